"""Small repositories in each language: what depends on something, and what only looks like it."""

from __future__ import annotations

from collections.abc import Mapping

Files = Mapping[str, str]

PYTHON: Files = {
    "pyproject.toml": """\
[project]
name = "relay"
dependencies = [
  "requests>=2",
  "google-cloud-storage",
  "plugin-x",
  "click",
]
[dependency-groups]
dev = ["pytest", "requests"]
""",
    "relay/__init__.py": "",
    "relay/fetch.py": """\
import requests
from google.cloud import storage


def fetch(url):
    # requests.get is slow
    print('requests.get')
    return requests.get(url)


def replay(requests):
    return requests.get(1)


def local():
    requests = [1]
    return requests.pop()


def bucket():
    return storage.Client()


def named():
    return fetch(requests=1)
""",
    "relay/click.py": """\
def click():
    return 1
""",
    "relay/press.py": """\
from relay import click
from .click import click as press


def push():
    return click()
""",
    "relay/late.py": """\
def late():
    import requests
    return requests.post(1)
""",
    "tests/test_fetch.py": """\
import pytest
from requests import (
    get as fetched,
)


def test_fetch():
    fetched('x')
    pytest.skip()
""",
    "Makefile": """\
serve:
\trelay --with plugin_x
""",
}
GO: Files = {
    "go.mod": """\
module x.org/relay

require (
\tgithub.com/spf13/pflag v1.0.0
\tgithub.com/cenkalti/backoff/v4 v4.0.0
\tgithub.com/a/sdk v1.0.0
\tgithub.com/a/sdk/s3 v1.0.0
\tgithub.com/lib/pq v1.0.0
\tgolang.org/x/sys v0.1.0 // indirect
)
""",
    "main.go": """\
package main

import (
\t"fmt"
\tflag "github.com/spf13/pflag"
\t"github.com/cenkalti/backoff/v4"
\t"github.com/a/sdk/s3"
\t_ "github.com/lib/pq"
)

func run() error {
\tflag.Parse()
\tfmt.Println("backoff.Retry")
\treturn backoff.Retry(nil, nil)
}

func other(backoff Clock) {
\tbackoff.Sleep()
}

func local() {
\tbackoff := clock()
\tbackoff.Sleep()
}

func put() {
\ts3.Put()
\tpq.Open()
}
""",
}
RUST: Files = {
    "Cargo.toml": """\
[dependencies]
log = "1"
time = "1"
serde_json = "1"
json = { package = "tiny-json", version = "1" }
rand = "1"
own = { path = "own" }
[target.'cfg(any(unix, windows))'.dependencies]
nix = "1"
""",
    "src/main.rs": """\
use serde_json as sj;
use nix::{unistd::{self, Pid}, sys as system};

fn main() {
    log::info!("rand::random");
    sj::to_string(&1);
    unistd::fork();
    Pid::this();
    system::wait();
    json::parse();
    call(); // rand::random()
    let x = ::rand::random();
}
""",
    "src/clock.rs": """\
use std::time;

fn now() {
    time::Instant::now();
}
""",
    "src/parts.rs": """\
mod log;
#[path = "../dice.rs"]
mod rand;

fn write() {
    log::line();
    x::log::line();
}
""",
    "src/inner.rs": """\
//! Times.
mod time {
    pub fn now() {}
}

fn now() {
    time::now();
}
""",
    "src/parts/log.rs": "pub fn line() {}\n",
}
NODE: Files = {
    "package.json": """\
{
 "dependencies": {
  "lodash": "4",
  "old-ms": "npm:ms@1",
  "busboy": "1",
  "denque": "1"
 },
 "devDependencies": {
  "mocha": "1",
  "lodash": "4"
 },
 "scripts": {
  "test": "mocha test"
 }
}""",
    "lib/a.js": """\
const fs = require('fs'), busboy = require('busboy')
const { get: fetch, set } = require('lodash')

function f () {
  fs.read()
  get()
  return busboy({ a: 'set()' })
}

function g () {
  return fetch(1)
}

function h (set) {
  return set(1)
}
""",
    "lib/b.mjs": """\
import {
  chunk as pieces,
  map
} from 'lodash'
import ms from 'old-ms'
import './busboy.js'

export function f () {
  // map(1)
  pieces()
  return ms('1d')
}
""",
    "lib/c.ts": """\
import Deque = require("denque");

export function q(): Deque {
  return new Deque();
}
""",
    "lib/busboy.js": "module.exports = 1\n",
}
RUBY: Files = {
    "Gemfile": """\
source "x"
gem "rack"
gem "rack-test", group: :test
gem "json"
gem "activesupport"
gem "rubocop"
gem "relay"
gem "version"
""",
    "lib/relay.rb": """\
require 'rack'
require 'json'
require_relative 'relay/json'
require_relative 'version'
require 'relay/json'
require 'active_support/all'

module Relay
  def self.call
    1
  end
end
""",
    "lib/relay/json.rb": """\
module Relay
  module Json
  end
end
""",
    "lib/version.rb": "VERSION = 1\n",
    "spec/relay_spec.rb": "require 'rack/test'\nrequire 'relay'\n",
    ".rubocop.yml": """\
AllCops:
  Enabled: true
""",
    "Rakefile": """\
task :lint do
  sh 'rubocop'
end
""",
}
JAVA: Files = {
    "pom.xml": """\
<project><dependencies>
<dependency><groupId>com.google.guava</groupId><artifactId>guava</artifactId></dependency>
<dependency><groupId>junit</groupId><artifactId>junit</artifactId><scope>test</scope></dependency>
<dependency><groupId>org.a</groupId><artifactId>a-core</artifactId></dependency>
<dependency><groupId>org.a</groupId><artifactId>a-test</artifactId><scope>test</scope></dependency>
</dependencies></project>
""",
    "src/main/java/x/Main.java": """\
package x;

import com.google.common.collect.ImmutableList;
import org.a.util.Check;

class Main {
    Object run() {
        Check.that("ImmutableList.of()");
        return ImmutableList.of();
    }
}
""",
    "src/test/java/x/MainTest.java": """\
package x;

import static org.junit.Assert.assertEquals;
import org.a.test.Runner;

class MainTest {
    void runs() {
        assertEquals(1, 1);
        Runner.run();
    }
}
""",
}
PHP: Files = {
    "composer.json": """\
{"require": {"psr/log": "1", "erusev/parsedown": "1", "guzzlehttp/guzzle": "7"}}""",
    "src/LoggerInterface.php": """\
<?php

namespace Relay;

interface LoggerInterface {}
""",
    "src/A.php": """\
<?php

namespace Relay;

use Psr\\Log\\LoggerInterface as Logs;
use Parsedown;
use GuzzleHttp\\{Client, Pool as P};

class A
{
    function f()
    {
        new Parsedown();
        return new Client();
    }
}

class B extends Logs
{
}
""",
}
DOT_NET: Files = {
    "src/A/A.csproj": """\
<Project>
<PackageReference Include="xunit" Version="1" />
</Project>
""",
    "src/A/A.cs": """\
using Xunit;

class A { }
""",
}
KOTLIN: Files = {
    "build.gradle.kts": """\
dependencies {
    implementation("com.squareup.okio:okio:3")
    kapt("a.b:compiler:1")
}
""",
    "src/main/kotlin/x/A.kt": """\
package x

import okio.Buffer as Bytes

fun f() = Bytes()
""",
}
