"""Linear machines that embed rows when they need them and never store the embedding."""
