"""The house rules that keep modules apart, read off the syntax trees."""

import ast
from pathlib import Path

import pytest

import semimetric

ROOT = Path(semimetric.__file__).parent

# a module imports only modules above it
ORDER = """
_errors _types _extras _checks _storage _threads engines blocks
_kernels.jit _kernels.locate _kernels.simplex _kernels.products _kernels.tables _kernels.linear _kernels.search
_kernels.metric _kernels.vectors _kernels.interactions _kernels.ladders _kernels.descent _kernels.splines _kernels.additive
_kernels.support _kernels.draws _kernels.mixture _kernels.triangles
columns schema knots grids callables supervision datasets planar_datasets tuple_blocks sources labelled_blocks
embeddings.maps embeddings.identity embeddings.anchors embeddings.conic embeddings.separation
embeddings.ranges embeddings.ladders embeddings.splines embeddings.orthogonal embeddings.additive
embeddings.rows embeddings.base embeddings.warped embeddings.vertices embeddings.roughness embeddings.unseen embeddings.groups
embeddings.pairs embeddings.gaps embeddings.mixed embeddings.triangles
embeddings.reservoir embeddings.placement embeddings.knotted embeddings.feature_pairs embeddings.ranking
embeddings.piecewise embeddings.simplices
embeddings.scales embeddings.directions embeddings.discriminants embeddings.labelled embeddings.histograms embeddings.states
base_distances axioms certificates distance outside
programs.losses programs.penalties programs.design programs.differences programs.shared programs.inequalities
programs.program
programs.certificate programs.constraints programs.shapes programs
solvers.base solvers.box solvers.gram solvers.interior_point solvers.first_order solvers.newton solvers.splitting
solvers.reference solvers.plain solvers.cutting_plane solvers.auto solvers
neighbors.oriented neighbors.boxes neighbors.cells neighbors.scan neighbors.lists neighbors.segment
neighbors.growth neighbors.ids neighbors.answers neighbors.store neighbors.index
neighbors.shards neighbors.sharded neighbors.shard_search neighbors.transformer
recipe task guarantees assembly repairs part_design fitting streaming selection evidence part_evidence margins margin_selection
neighbourhoods crowds part_crowd large_margin voting large_margin_selection group_screening group_sources group_selection
explanations shape_functions
machines.rows machines.weights machines.problems machines.dual machines.pegasos machines.learning machines.calibration
estimators.base estimators.regressor estimators.approximator estimators.tuples
estimators.pair_learner estimators.triplet_learner estimators.quadruplet_learner
estimators.large_margin estimators.classifier
estimators.embedded_linear estimators.embedded_classifier estimators.embedded_regressor
classifiers.support_pairs classifiers.boundary classifiers.support
classifiers.mixture_prior classifiers.mixture_em classifiers.chains classifiers.pieces classifiers.dplm
cluster block_fitting label_fitting pairwise_files out_of_core distributed
persistence canvas plotting conic_plots explanation_plots embedding_plots shape_plots boundary_plots
demo frames conditions item_columns commands search_commands
mixed_tables label_commands cli __main__ __init__
""".split()

EMPTY = {"_kernels", "classifiers", "embeddings", "estimators", "machines", "neighbors"}  # packages that hold a docstring only
OPTIONAL = {"matplotlib", "pandas", "pyarrow", "ot", "skimage", "dask", "distributed", "zarr"}
GRAB_BAGS = {"utils", "util", "core", "common", "helpers", "misc"}


def name_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


MODULES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}
every_module = pytest.mark.parametrize("name", MODULES)


def relative_imports(name):
    """(level, module, names) of every relative import, as modules of the package."""
    package = name.split(".") if MODULES[name].name == "__init__.py" and name != "__init__" else name.split(".")[:-1]
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1] + (node.module.split(".") if node.module else [])
            yield ".".join(base), [alias.name for alias in node.names]


def imported(name):
    for base, names in relative_imports(name):
        submodules = [f"{base}.{n}" if base else n for n in names]
        found = [s for s in submodules if s in MODULES]
        yield from found
        if len(found) < len(names):
            yield base


def absolute_roots(nodes):
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield node.module.split(".")[0]


@every_module
def test_has_a_place_in_the_order(name):
    assert name in ORDER or name in EMPTY, "write the module into ORDER, below everything that it imports"
    assert name in ORDER or not ast.dump(ast.Module(TREES[name].body[1:], [])).count("Import")


@every_module
def test_imports_only_modules_above(name):
    place = ORDER.index(name) if name in ORDER else 0
    below = [other for other in imported(name) if ORDER.index(other) >= place]
    assert not below, f"{name} imports {below}, which are not above it"


@every_module
def test_imports_are_relative_and_never_of_the_root(name):
    assert "semimetric" not in absolute_roots(ast.walk(TREES[name]))
    assert not [names for base, names in relative_imports(name) if not base and not {*names} <= {*MODULES}]


@every_module
def test_numba_is_imported_by_kernels_only(name):
    assert "numba" not in absolute_roots(ast.walk(TREES[name])) or name == "_kernels.jit"


@every_module
def test_optional_packages_are_imported_in_functions(name):
    top = [node for node in ast.walk(TREES[name]) if node in TREES[name].body]
    assert not OPTIONAL & {*absolute_roots(top)}


@every_module
def test_is_named_by_its_content(name):
    assert name.split(".")[-1].lstrip("_") not in GRAB_BAGS


@every_module
def test_names_what_it_exports_with_strings(name):
    assigned = [n for n in TREES[name].body if isinstance(n, ast.Assign) and getattr(n.targets[0], "id", "") == "__all__"]
    assert assigned or name in EMPTY or name == "__main__"
    assert all(isinstance(e, ast.Constant) and isinstance(e.value, str) for n in assigned for e in n.value.elts)


def test_terms_and_embeddings_do_not_know_solvers():
    for name in MODULES:
        if name.startswith(("programs", "embeddings", "_kernels")):
            assert not [other for other in imported(name) if other.startswith(("solvers", "fitting", "estimators"))]
    for term in ("programs.losses", "programs.penalties"):  # and terms do not know one another
        assert not [other for other in imported(term) if other.startswith("programs")]
