"""Whether the setting is found that users ask for in their words, in the ways of each language, and no other one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.codebase.codebase import Codebase
from runtime.codebase.search.values.value_fit import likelihood
from runtime.codebase.search.values.value_questions import value_parts
from tests.runtime.codebase.sample_repository import write_files
from tests.runtime.codebase.test_option_records import told

C_CONF = """\
void config__init_reload(struct config *config)
{
	config->max_queued_barges = 14;
	config->lock_interval = 20;
	config->default_sluice->port = 1901;
}

void config__show(struct config *config)
{
	config->max_shown_barges = 7;
}
"""
RUBY_DEFAULTS = """\
module Canal
  class Configuration
    DEFAULTS = {
      # Serving
      "port"        => "4100",
      "towpath_dir" => "_towpaths",
    }
  end

  class Serve
    NIGHTWATCH_PORT = 35_001

    def process(opts)
      opts["nightwatch_port"] ||= NIGHTWATCH_PORT
    end
  end
end
"""
RUST_CONFIG = """\
#[derive(Deserialize)]
pub struct Barge {
    #[serde(default = "default_draught")]
    pub draught: u32,
}

fn default_draught() -> u32 {
    180
}

#[derive(Deserialize)]
#[serde(default)]
pub struct Chart {
    /// Maximum number of visible buoys.
    pub limit_buoys: u32,
}

impl Default for Chart {
    fn default() -> Chart {
        Chart { limit_buoys: 33 }
    }
}
"""
GO_CONFIG = """\
package canal

type Harbour struct {
	Berths int    `default:"60" json:"berths"`
	Flag   string `env:"HARBOUR_FLAG,default=blue"`
}
"""
GO_GET = """\
package canal

import "time"

var DefaultHornPause = time.Hour

func Get() *Configuration {
	return &Configuration{
		Lock: Lock{
			GateCount: 9,
		},
	}
}
"""
JS_OPTIONS = """\
yargs.option('whistle-time', {
  describe: 'how long the whistle blows',
  default: 8,
});

function Ferry(options) {
  this.rampAngle = options.rampAngle === undefined ? 12 : options.rampAngle === -1 ? 'flat' : options.rampAngle;
}
"""
JAVA_CACHE = """\
public class CargoManifestCache {
    public static final int DEFAULT_CAPACITY = 512;
    public static final String CARGO_HEADER = "cargo-header";
}
"""
PYTHON_SETTINGS = """\
import os

CANAL_RATE = 3
CANAL_DEPTH = 4
CANAL_WIDTH = 5
CANAL_BANK_MAX_SIZE = int(os.getenv('CANAL_BANK_MAX_SIZE', 5242))
CANAL_HOST = 'here'


class Pilot:
    def __init__(self, check_interval=90, check_timeout=2, is_awake=True, escort_boat=None, last_count=1):
        self.check_interval = check_interval
        self.check_timeout = check_timeout
        self.is_awake = is_awake
        self.escort_boat = escort_boat
        self.last_count = last_count
"""
PHP_OPTIONS = """\
<?php
class Tug {
    private $options = ['rope_length' => 70];

    public function __construct(int $crewSize = 6) {
        $this->crewSize = $crewSize;
    }
}
"""
C_SHARP_OPTIONS = """\
public class CraneOptions {
    public int MaxLifts { get; set; } = 25;
}
"""
CANAL = {
    "c/conf.c": C_CONF,
    "ruby/canal.rb": RUBY_DEFAULTS,
    "rust/config.rs": RUST_CONFIG,
    "go/config.go": GO_CONFIG,
    "go/get.go": GO_GET,
    "config/puma.rb": "max_threads_count = ENV.fetch('THREADS', 5)\n",
    "js/options.js": JS_OPTIONS,
    "java/CargoManifestCache.java": JAVA_CACHE,
    "python/settings.py": PYTHON_SETTINGS,
    "php/Tug.php": PHP_OPTIONS,
    "cs/CraneOptions.cs": C_SHARP_OPTIONS,
}


@pytest.fixture
def canal(root: Path, opened: Callable[[Path], Codebase]) -> Codebase:
    write_files(root, CANAL)
    return opened(root)


@pytest.mark.parametrize(
    ("question", "name", "value", "last"),
    [
        ("How many barges may be queued by default?", "max_queued_barges", "14", "c/conf.c:3"),
        ("Which port does the night watch use by default?", "nightwatch_port", "35_001", "ruby/canal.rb:11"),
        (
            "What is the folder for towpaths called if I configure nothing?",
            "towpath_dir",
            '"_towpaths"',
            "ruby/canal.rb:6",
        ),
        ("How deep is the draught of a barge by default?", "draught", "180", "rust/config.rs:8"),
        ("How many buoys are shown at most by default?", "limit_buoys", "33", "rust/config.rs:20"),
        ("How many berths are there by default?", "Berths", '"60"', "go/config.go:4"),
        ("Which flag is used if none is given?", "Flag", "blue", "go/config.go:5"),
        ("How many gates does a lock have by default?", "GateCount", "9", "go/get.go:10"),
        ("How long does the horn pause by default?", "DefaultHornPause", "time.Hour", "go/get.go:5"),
        ("How long does the whistle blow by default?", "whistle-time", "8", "js/options.js:3"),
        ("What is the default angle of the ramp?", "rampAngle", "12", "js/options.js:7"),
        (
            "How many entries can the cache of cargo manifests hold by default?",
            "DEFAULT_CAPACITY",
            "512",
            "java/CargoManifestCache.java:2",
        ),
        ("How large may a bank be by default?", "CANAL_BANK_MAX_SIZE", "5242", "python/settings.py:6"),
        ("How often does the pilot check?", "check_interval", "90", "python/settings.py:11"),
        ("How large is the crew by default?", "crewSize", "6", "php/Tug.php:5"),
        ("How many lifts are made at most by default?", "MaxLifts", "25", "cs/CraneOptions.cs:2"),
    ],
)
def test_a_setting_is_told_with_its_value(canal: Codebase, question: str, name: str, value: str, last: str) -> None:
    (found, *others) = told(canal, question)
    assert ((found[0], found[1], found[2][-1]), others) == ((name, value, last), [])


@pytest.mark.parametrize(
    "question",
    [
        "How many ports does the night watch use by default?",  # a port counts nothing
        "How many barges are shown by default?",  # set while it runs
        "Which cargo header is sent if I give none?",  # a key that only repeats its name
        "Which pilot is awake by default?",  # a switch is no answer to «which»
        "How large a crew is allowed?",  # a default is no bound of what may be given
        "How long may a cache be used by default?",  # the owner has one word of it, and the name is no time
        "How many threads are started by default?",  # that file sets up another program
        "Which escort boat with a crane is used by default?",  # nothing is no answer to «which»
        "How often is the last count made?",  # a number that is no time
        "What if I set a flag on a barge?",  # asks what happens
    ],
)
def test_a_value_that_does_not_answer_is_not_told(canal: Codebase, question: str) -> None:
    assert told(canal, question) == []


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [("lastUpdate", "1", 0.0), ("updateInterval", "15", 1.0), ("updateTimeout", "15", 0.7)],
)
def test_how_often_something_is_done_is_said_by_its_interval(name: str, value: str, expected: float) -> None:
    (part,) = value_parts("How often is the screen updated?")
    assert likelihood(name, [value], part) == expected
