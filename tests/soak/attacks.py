"""The attacks by name: a new one joins by one row."""

from soak import command_lines, hostile_input, models

ATTACKS = {
    "command-lines": command_lines.COMMAND_LINES,
    "hostile-input": hostile_input.INPUT,
    "model-files": models.FILES,
}
