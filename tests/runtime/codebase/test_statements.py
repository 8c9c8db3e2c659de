"""Which statement a comment documents, in the layouts of several languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.codebase.search.statements import Statements

# Each line of a comment ends with the first words of the line that it documents, or with NONE.
PYTHON = '''
class Settings:
    """Settings of the depot. -> class Settings:"""

    # Seconds that a parcel waits. -> wait_s = 120
    #
    # Default: 120 -> wait_s = 120
    wait_s = 120
    # How often a letter is tried. -> tries = 3
    tries = 3

    # The limits of the depot. -> NONE

    limit: int = 7
    """How many parcels it holds. -> limit: int"""

    colours: list[str] = [
        "red",
    ]
    """The colours of the boxes. -> colours: list"""
    size = 5  # The size of a box,
              # in metres. -> size = 5
    weight = 9

    def send(self, box):
        """Send a box. -> def send"""
        # Heavy boxes wait. -> if box.heavy
        if box.heavy:
            return wait(box)
            # Nothing more to do. -> NONE
        # The others go. -> else:
        else:
            go(box)

    @property
    # Whether it is open. -> def is_open
    def is_open(self):
        return True
'''
TYPESCRIPT = """
/** The options of a cache. -> export interface Options */
export interface Options {
  /**
   * How many items it holds. -> max?:
   */
  max?: number
  /** How large one item may be. -> maxSize?: */
  maxSize?: number // in bytes,
                   // with its key -> maxSize?:
  // Nothing follows. -> NONE
}

// Older names. -> NONE

const defaults = {
  // The most items. -> max:
  max: 100,
  ttl: 0,
  // Removes a stale item. -> dispose(
  dispose(item) {
    drop(item)
  },
}
"""
GO = """
// Depot keeps parcels. -> type Depot struct
type Depot struct {
	// Wait is how long a parcel waits. -> Wait time.Duration
	Wait time.Duration
	Tries int // Tries is how often a letter is tried

	// Old fields. -> NONE

	Size int
}

// Send sends a box. -> func (d *Depot) Send
func (d *Depot) Send(box Box) error {
	// A heavy box waits. -> if box.Heavy
	if box.Heavy {
		return d.wait(box)
	} else {
		// The others go. -> return d.go
		return d.go(box)
	}
}
"""
RUST = """
/// The bounds of a run. -> pub struct Bounds
#[derive(Debug)]
pub struct Bounds {
    /// The least number of runs. -> pub min
    #[serde(default)]
    pub min: u64,
    /// The greatest number. -> pub max
    pub max: Option<u64>,
    // Private from here. -> NONE

    seed: u64,
}

impl Bounds {
    /// Makes bounds. -> fn new
    fn new() -> Self {
        match kind {
            // Ten by default. -> Kind::Plain
            Kind::Plain => 10,
            Kind::Other => 20,
        }
    }
}
"""
C = """
/* The depot. -> struct depot */
struct depot {
    int wait;    /* seconds that a parcel
                    waits -> int wait; */
    int tries;   /**< how often */
    int size;
    ///< The size of a box. -> int size;
    int weight;
};

/* How many boxes there are. -> #define MAX_BOXES */
#define MAX_BOXES 10
#define MAX_BAGS 20

/*
 * Sends a box. -> static int send
 */
static int send(struct box *box)
{
    // Heavy boxes wait. -> if (box->heavy)
    if (box->heavy)
    {
        return wait(box);
    }
    return go(box);
}
"""
JAVA = """
/** Keeps parcels. -> public class Depot */
@Service
public class Depot {
    /** Seconds that a parcel waits. -> private int waitS */
    @Min(1)
    private int waitS = 120;
    private int tries = 3;

    /**
     * Sends a box. -> public void send
     */
    @Override
    public void send(Box box) {
        // Heavy boxes wait. -> if (box.isHeavy())
        if (box.isHeavy()) {
            hold(box);
        }
    }
}
"""


@pytest.mark.parametrize(
    "text", [PYTHON, TYPESCRIPT, GO, RUST, C, JAVA], ids=["python", "typescript", "go", "rust", "c", "java"]
)
def test_a_comment_documents_what_it_stands_above_or_trails(text: str) -> None:
    lines = text.strip("\n").split("\n")
    statements = Statements(lines, begins_file=True)
    marked = {
        at: line.partition(" -> ")[2].removesuffix('"""').removesuffix("*/").strip() for at, line in enumerate(lines)
    }
    found = {}
    for at in marked:
        owner = statements.owners.get(at)
        found[at] = "NONE" if owner is None else lines[statements.head(owner)].strip()
    wrong = [
        (lines[at], found[at])
        for at, wanted in marked.items()
        if wanted and statements.is_comment[at] and not found[at].startswith(wanted)
    ]
    assert wrong == []
    assert sum(bool(wanted) and statements.is_comment[at] for at, wanted in marked.items()) >= 4


@pytest.mark.parametrize(
    ("text", "holder"),
    [
        ("class A:\n    x = 1", True),
        ("export interface A {\n  x: 1\n}", True),
        ("type A struct {\n\tX int\n}", True),
        ("pub enum A {\n    X,\n}", True),
        ("LIMITS = {\n    'a': 1,\n}", True),
        ("const A = {\n  a: 1,\n}", True),
        ("def f(x):\n    return x", False),
        ("func f() {\n\treturn\n}", False),
        ("if x:\n    y = 1", False),
        ("x = 1", False),
        ("x = f(\n    1,\n)", False),
    ],
)
def test_what_has_members_is_told_from_what_runs(text: str, *, holder: bool) -> None:
    statements = Statements(text.split("\n"))
    assert statements.is_holder(statements.extent(0)) is holder


def test_a_branch_ends_where_the_next_begins() -> None:
    lines = ["if a:", "    b()", "elif c:", "    d()", "else:", "    e()", "f()"]
    statements = Statements(lines)
    assert [tuple(statements.extent(at)) for at in (0, 2, 4, 6)] == [(0, 1), (2, 3), (4, 5), (6, 6)]
    braced = Statements(["if (a) {", "  b()", "} else {", "  c()", "}", "f()"])
    assert [tuple(braced.extent(at)) for at in (0, 2)] == [(0, 1), (2, 4)]


def test_the_branch_around_a_line_is_known_by_its_head() -> None:
    lines = ["def f():", "    a()", "    if b:", "        c()", "        d()", "    e()"]
    statements = Statements(lines)
    assert [statements.branch_head(at) for at in range(6)] == [None, None, None, 2, 2, None]


def test_a_string_at_the_head_of_a_part_of_a_file_documents_nothing_that_is_known() -> None:
    lines = ['"""How many parcels it holds."""', "", "tries = 3"]
    assert Statements(lines).owners == {}
    assert tuple(Statements(lines, begins_file=True).owners[0]) == (0, 2)


LINE = st.text("ab #/*\"'{}()[]:;=\t\n", max_size=20).map(lambda text: text.replace("\n", "")) | st.sampled_from(
    ["def f():", '    """a"""', "}", "    # a", "// b", "if x {", "} else {", "@a", "#[b]", "/*", "*/", ""]
)


@given(st.lists(LINE, max_size=30), st.booleans())
def test_each_owner_lies_in_the_lines(lines: list[str], begins_file: bool) -> None:
    statements = Statements(lines, begins_file=begins_file)
    for at, owner in statements.owners.items():
        assert statements.is_comment[at]
        assert 0 <= owner.start <= statements.head(owner) <= owner.end < len(lines)
    for at in range(len(lines)):
        head = statements.branch_head(at)
        assert head is None or head < at
        assert statements.comment_above(at) <= at
