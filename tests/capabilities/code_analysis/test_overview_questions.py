from __future__ import annotations

import time

import pytest

from actors.capabilities.code_analysis.question.analysis import analyse
from actors.capabilities.code_analysis.question.overview_wording import draws, focus_of, folders_named, is_overview

OF_THE_WHOLE = """
What does this package do, and what are its main parts?
What does this do and how is it built?
What does this project do?
What is this repository?
What's this project about?
What is this library for?
What is the purpose of this library?
What problem does this package solve?
Why does this project exist?
What kind of project is this?
What is all this?
Explain this project
Explain this codebase to me
Describe the code base briefly.
Summarise this repository in three sentences.
Summarize the repo
Overview
Overview of this repository
Give me an overview of this repository
Give me a quick tour of the codebase
Give me a short introduction to this project.
Can you give me a high-level overview of the project?
Please explain what this project does and how it is organised.
Tell me about this repo
Tell me how the code base is organized
I'm new here. Where do I start?
I am new to this project, where should I start reading?
Where should I begin reading the code?
Where do I start?
What should I read first?
Which files should I read first to understand this project?
What is the best place to start reading?
What are the main components?
What are the main modules of this library and how do they fit together?
What are the key packages in this repo?
What are the parts of this project?
Which main packages are there?
What does this repository consist of?
What is this library made of?
How is this project organised?
How is the code structured?
How is this codebase laid out?
How is this built?
How is this library built internally?
How does this library work?
How does this project hang together?
How do the main parts fit together?
How do the modules depend on each other?
What is the architecture of this project?
What's the architecture?
What is the overall structure of the code?
Explain the architecture of this project
Describe the project structure.
Architecture
Project structure
What are the entry points?
What is the entry point of this program?
Where are the entry points of this package?
Where does the program start?
Where does execution begin?
What is the public API of this library?
What language is this project written in?
What programming language and framework does this app use?
In which language is this library written?
What is the tech stack of this project?
What is this program written in?
Draw a diagram of the main packages
Draw the architecture of this project.
Show me a diagram of the architecture
Draw me a picture of the main packages and how they depend on each other.
Sketch the dependencies between the main packages
How is this project built? Draw a diagram.
How is this project organised, with a diagram of the main packages?
What is in src/net, and how is it built?
What is in src/net?
What does src/net do?
How is the src/net package organised?
What is in the worker folder?
How is the celery package structured?
What are the main parts of lib/puma?
Give me an overview of packages/toolkit/
Give me an overview of the architecture: what are the main parts and how do they fit together?
Give me a high-level overview of how this codebase works.
I just checked out this. Can you give me a short tour of how it is built?
I've inherited this codebase, how does it hang together?
How is the code organised into packages?
How are the modules of this project connected?
Which packages does the repository have and what is each for?
What are the main modules and what does each of them do?
What does each folder contain?
What's the purpose of each top-level directory?
Can you summarise what this repository contains?
What would a new contributor need to know about the code's structure?
Hi, what does   this
project do?
"""

OF_SOMETHING_ELSE = """
What does each retry handler do?
What does each of them do?
What is the purpose of each parameter of decide?
Give me an overview of the retry logic
Summarise what the scheduler does
How is the cache organised into buckets?
How are the retries of this client connected to the pool?
What would a new contributor need to know about testing?
What does the retry module do?
What does the retry module do, and what are its main parts?
What does retry do?
What does `Depot` do?
What is a Depot?
What is the default timeout of this package?
What does this function do?
What does this class do and how is it used?
What does it do?
How is it built?
What does this do?
What is this?
How does this work?
How does this library handle timeouts?
How does the program parse its arguments?
How is the connection pool organised?
How is the request built?
How is the project file parsed?
How is the code path for errors tested?
What does the project file contain?
What does this package do when the network fails?
What does this package do with the retries?
What is the purpose of the lock?
What are the main differences between Depot and Shelf?
What are the main methods of Depot?
What are the parts of a URL?
What are the components of the scheduler?
Where is the structure of this project validated?
Where do retries start?
Where does the worker start?
Where is the main loop?
Explain the retry logic
Explain the architecture of the scheduler
Describe the layout of the file header
Draw the flow of a request
Draw a diagram of the retry flow
Draw the call graph of main
Which packages does the resolver install?
Which modules import shelf?
What language features does the parser support?
Which framework does the test of Depot use?
Give me an overview of error handling
Where should I add a new backend in this project?
How do I get started with the client?
How do I build this project?
How do I install this package?
What is in src/net/wire.py?
What does src/net/wire.py do?
Who maintains this project?
Which tests cover this package?
What changed in this project last?
List all packages
What are the entry points of the plugin system?
"""


def lines(text: str) -> list[str]:
    joined = text.strip().replace("this\nproject", "this\x00project")
    return [line.replace("\x00", "\n") for line in joined.split("\n")]


@pytest.mark.parametrize("text", lines(OF_THE_WHOLE))
def test_a_question_about_the_whole_is_recognised(text: str) -> None:
    assert is_overview(text)
    assert (analyse(text).kind, analyse(text).further) == ("overview", ())


@pytest.mark.parametrize("text", lines(OF_SOMETHING_ELSE))
def test_a_question_about_a_part_is_none(text: str) -> None:
    assert not is_overview(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("What is in src/net, and how is it built?", ("src/net",)),
        ("What is in src/net?", ("src/net",)),
        ("Give me an overview of packages/toolkit/", ("packages/toolkit",)),
        ("What is in the worker folder?", ("worker",)),
        ("How is the `celery.app` package structured?", ("celery.app",)),
        ("What is this package, and how is it built?", ()),
        ("How is this project organised?", ()),
    ],
)
def test_the_folder_of_a_question_is_found(text: str, expected: tuple[str, ...]) -> None:
    assert folders_named(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "what does this project do, " * 3_000,
        "please " * 10_000,
        "what is this project in general " * 3_000,
        " " * 100_000,
        "a/" * 50_000,
        "the " * 30_000,
        "draw a diagram of the " * 4_000,
        "explain " * 10_000 + "this project",
        "?" * 100_000,
    ],
)
def test_the_time_is_linear_in_a_hostile_text(text: str) -> None:
    started_s = time.process_time()
    is_overview(text)
    draws(text)
    folders_named(text)
    assert time.process_time() - started_s < 2


@pytest.mark.parametrize(
    ("text", "focus"),
    [
        ("What does this project do?", "all"),
        ("What are the entry points?", "entries"),
        ("Where does the program start?", "entries"),
        ("I'm new here. Where do I start reading?", "start"),
        ("What should I read first?", "start"),
        ("What language is this project written in?", "languages"),
        ("What is this project, and what language is it written in?", "all"),
        ("What are the entry points, and where should I start reading?", "all"),
    ],
)
def test_what_all_clauses_ask_for_is_the_focus(text: str, focus: str) -> None:
    assert is_overview(text)
    assert focus_of(text) == focus


PROJECT = {"depot": False, "store-kit": False, "Depot": True}


@pytest.mark.parametrize(
    "text",
    [
        "What does depot do?",
        "What is depot and how is it built?",
        "How is Depot organised?",
        "What is Depot, and what are its main parts?",
        "What are the main parts of store-kit?",
        "Give me an overview of depot.",
        "What is depot's architecture?",
    ],
)
def test_a_project_by_its_name_is_the_whole(text: str) -> None:
    assert analyse(text, PROJECT).kind == "overview"
    assert analyse(text, PROJECT).text == text
    assert analyse(text).kind != "overview"


@pytest.mark.parametrize(
    "text",
    [
        "What does Depot do?",
        "What is `depot`?",
        "What does depot.open do?",
        "What is a depot door?",
        "How does depot open a box?",
        "Where is depot defined?",
        "What is in depot/net/wire.py?",
    ],
)
def test_a_definition_that_is_called_like_the_project_is_not_the_whole(text: str) -> None:
    assert analyse(text, PROJECT) == analyse(text)
    assert analyse(text).kind != "overview"
