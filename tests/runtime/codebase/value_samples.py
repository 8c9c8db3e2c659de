"""Holds small repositories in which names get their values in the ways of each language."""

from __future__ import annotations

PYTHON = {
    "pond/limits.py": """\
MAX_DUCKS = 12
DEPTH = 2 * 60
PORT = int(os.environ.get('POND_PORT', '8080'))
TWICE = 1
TWICE = 2
""",
    "pond/__init__.py": """\
from pond.limits import MAX_DUCKS as DUCKS
""",
    "pond/pond.py": """\
import dataclasses
from pond.limits import DEPTH
from pond import limits, DUCKS


class Pond:
    shore = 'sand'

    def __init__(self, ducks=DUCKS, depth=None, reed=None, moss=None, own=None):
        self.ducks = ducks
        self.depth = depth or DEPTH
        self.reed = reed if reed is not None else 7
        if moss is None:
            moss = limits.MAX_DUCKS
        self.moss = moss
        own = own + 1
        self.own = own
        self.lilies = limits.TWICE
        self.frogs = self.count()

    def flood(self):
        self.water = 9


@dataclasses.dataclass
class Heron:
    legs: int = 2
    fish: list = dataclasses.field(default_factory=list)
    reach: float = field(default=1.5)
""",
    "pond/door.py": """\
parser.add_argument('-m', '--max-boats', type=int, default=4, help='how many boats')
OPTIONS = {'towing': Option(3.5, type='float'), 'nested': {'speed': {'default': 8}}}
barge = dict(towing=1)
volume = settings.get('volume', 11)
""",
}
JAVASCRIPT = {
    "mill/defaults.mjs": """\
export const SACKS = 40;
export default { flour: 'rye', wind: { least: SACKS } };
""",
    "mill/mill.mjs": """\
import { SACKS } from './defaults.mjs';
const wheel = 3;
export class Mill {
  turns = 5;
  constructor(options = {}, { gear = 2 } = {}) {
    this.sacks = options.sacks ?? SACKS;
    this.wheel = options.wheel || wheel;
    if (!this.stone) this.stone = 8;
    const limit = options.limit;
    this.limit = limit;
  }
  run() { if (this.open || wheel) this.speed = 10; }
}
yargs.options({ grind: { default: 6 } });
""",
    "mill/typed.ts": """\
enum Grain { Rye, Oat = 4 }
class Store {
  private readonly kind: Grain = Grain.Rye;
  constructor(public size: number = 9, timeout?: number) { this.timeout = timeout === undefined ? 250 : timeout; }
}
""",
}
GO = {
    "go.mod": """\
module example.com/kiln
""",
    "kiln/kiln.go": """\
package kiln

import (
	"time"
	"example.com/kiln/heat"
)

type Kiln struct {
	RetryMax int
}

func NewKiln(o *Opts) *Kiln {
	k := &Kiln{RetryMax: defaultRetryMax, Wait: heat.Wait}
	k.Glow = 5
	if o.Draft == 0 {
		o.Draft = 30 * time.Second
	}
	return k
}

func (k *Kiln) Fire() { k.Ash = 3 }
""",
    "kiln/values.go": """\
package kiln

const (
	defaultRetryMax = 4
	Other = 1
)
var One, Another = 1, 2
""",
    "kiln/values_test.go": """\
package kiln

const testOnly = 9
""",
    "kiln/flags.go": """\
package kiln

import "flag"

func init() { flag.IntVar(&port, "kiln-port", 7070, "where it listens") }
var app = &cli.IntFlag{Name: "shelves", Value: 12}
""",
    "heat/heat.go": """\
package heat

const Wait = 10 * time.Minute
""",
}
JAVA = {
    "src/main/java/org/barn/Barn.java": """\
package org.barn;

import static org.barn.Limits.COWS;

class Barn {
    private static final int GATES = 2;
    private int cows = Limits.COWS;
    private int gates;
    private int height = properties.getInteger("height", 6);

    Barn() {
        this.gates = GATES;
    }

    void paint(int gates) {
        this.gates = gates;
    }
}
""",
    "src/main/java/org/barn/Limits.java": """\
package org.barn;

final class Limits {
    static final int COWS = 30;
}
""",
}
RUST = {
    "src/lib.rs": """\
mod limits;
use crate::limits::MAX_LOGS;
use std::time::Duration;

pub struct Raft { logs: usize }

impl Default for Raft {
    fn default() -> Self {
        Raft { logs: MAX_LOGS, rope: Some(5), sail: limits::SAIL, tide: Duration::from_secs(3) }
    }
}

fn row(o: Opts) { let oars = o.oars.unwrap_or(2); }

#[derive(Parser)]
struct Args {
    #[arg(long, default_value_t = 21)]
    crew: u8,
}

#[cfg(test)]
mod tests {
    const LEAK: u8 = 1;
    fn made() -> Raft { Raft { logs: 1 } }
}
""",
    "src/limits.rs": """\
pub const MAX_LOGS: usize = 1024 * 8;
pub const SAIL: u8 = 1;
""",
}
C = {
    "include/tank.h": """\
#ifndef TANK_H
#define TANK_H
#define TANK_SIZE 512
#ifdef SMALL
#define TANK_DEPTH 2
#else
#define TANK_DEPTH (TANK_SIZE * 2)
#endif
#ifndef TANK_LID
#define TANK_LID 1
#endif
#endif
""",
    "tank.c": """\
#include "tank.h"
enum kind { GLASS, STEEL = 3 };

struct tank *tank_new(void)
{
    t->size = TANK_SIZE;
    t->depth = TANK_DEPTH;
    t->kind = STEEL;
    t->lid = TANK_LID;
    if (t->pumps == 0)
        t->pumps = 4;
    return t;
}

void fill(struct tank *t) { t->level = 7; }
""",
    "tank.cpp": """\
class Tank {
    int walls_ = 4;
    int rim_{3};
    Tank(int bolts = 16, Kind kind = Kind::steel) : bolts_(bolts) {}
    enum class Kind { glass, steel };
};
""",
}
OTHERS = {
    "lib/loom.rb": """\
class Loom
  THREADS = 4096
  DEFAULTS = { width: 80, :color => 'red' }.freeze
  def initialize(threads = THREADS, knots: 5, **opts)
    @threads = threads
    @speed ||= 9
    @dye = ENV.fetch('LOOM_DYE', 'blue')
    @shed = opts[:shed] || 2
  end
end
""",
    "src/Oven.php": """\
<?php
class Oven {
  public const HEAT = 220;
  private int $racks = 3;
  function __construct(private int $fans = 2, $heat = null) { $this->heat = $heat ?? self::HEAT; }
}
""",
    "src/Desk.cs": """\
namespace Office {
  class Desk {
    const int Legs = 4;
    public int Drawers { get; set; } = 3;
    void Sit(int chairs = Legs) { var lamp = options.Lamp ?? 1; }
  }
}
""",
    "src/Boat.kt": """\
const val HULL = 5
class Boat(val masts: Int = 2) {
  var hull = HULL
}
""",
}
