//! The script: what the demo agent does for which task. Everything in it really works, wherever there is a shell.

/// A plan of tasks that all have a recipe.
pub(super) const PLAN: &str = r#"# A greeter

A small program for the shell, with a test that proves what it does. One task at a time.

- [ ] Write `greet.sh`: it greets whoever is named, or the world
- [ ] Write `test.sh`: it runs `greet.sh` and compares what it prints
- [ ] Teach `greet.sh` the option `--shout`, and test it
- [ ] Write `README.md`, with the examples that were run
"#;

/// How one task is done.
pub(super) struct Recipe {
    /// Words that a task with this recipe has.
    pub task: &'static [&'static str],
    pub thought: &'static str,
    /// Path and content of what is written.
    pub files: &'static [(&'static str, &'static str)],
    /// Run with `sh -c` once the files are there; it has to succeed.
    pub command: &'static str,
    pub commit: &'static str,
    pub done: &'static str,
}

pub(super) fn recipe_for(task: &str) -> Option<&'static Recipe> {
    RECIPES
        .iter()
        .find(|recipe| recipe.task.iter().all(|word| task.contains(word)))
}

const RECIPES: [Recipe; 4] = [
    Recipe {
        task: &["--shout"],
        thought: "The option has to come off before the name is looked at. And what is not tested does not work.",
        files: &[("greet.sh", GREET_SHOUT), ("test.sh", TEST_SHOUT)],
        command: "sh test.sh",
        commit: "Teach the greeter to shout",
        done: "The greeter shouts when it is told to, and three tests say so.",
    },
    Recipe {
        task: &["Write", "test.sh"],
        thought: "A test should print what it expected when it fails. Then I run it, of course.",
        files: &[("test.sh", TEST)],
        command: "sh test.sh",
        commit: "Test the greeter",
        done: "Both cases are tested, and pass.",
    },
    Recipe {
        task: &["Write", "README.md"],
        thought: "Examples are the best documentation, as long as somebody runs them. I do.",
        files: &[("README.md", README)],
        command: "sh greet.sh && sh greet.sh Ada && sh greet.sh --shout Ada",
        commit: "Describe the greeter",
        done: "The page shows three examples, and each of them was run.",
    },
    Recipe {
        task: &["Write", "greet.sh"],
        thought: "Plain sh will do: one line for the name, one to print it.",
        files: &[("greet.sh", GREET)],
        command: "sh greet.sh && sh greet.sh Ada",
        commit: "Add the greeter",
        done: "It greets the world, and anybody by name.",
    },
];

const GREET: &str = r#"#!/bin/sh
# Greets whoever is named, or the world.
name=${1:-world}
echo "Hello, $name!"
"#;

const GREET_SHOUT: &str = r#"#!/bin/sh
# Greets whoever is named, or the world; with --shout so that everybody hears it.
shout=no
if [ "$1" = "--shout" ]; then
    shout=yes
    shift
fi
name=${1:-world}
greeting="Hello, $name!"
if [ "$shout" = yes ]; then
    greeting=$(echo "$greeting" | tr '[:lower:]' '[:upper:]')
fi
echo "$greeting"
"#;

const TEST: &str = r#"#!/bin/sh
# Compares what greet.sh prints with what it should print.
failed=0
check() {
    expected=$1
    shift
    actual=$(sh greet.sh "$@")
    if [ "$actual" = "$expected" ]; then
        echo "ok: $expected"
    else
        echo "failed: expected '$expected', got '$actual'"
        failed=1
    fi
}
check "Hello, world!"
check "Hello, Ada!" Ada
exit $failed
"#;

const TEST_SHOUT: &str = r#"#!/bin/sh
# Compares what greet.sh prints with what it should print.
failed=0
check() {
    expected=$1
    shift
    actual=$(sh greet.sh "$@")
    if [ "$actual" = "$expected" ]; then
        echo "ok: $expected"
    else
        echo "failed: expected '$expected', got '$actual'"
        failed=1
    fi
}
check "Hello, world!"
check "Hello, Ada!" Ada
check "HELLO, ADA!" --shout Ada
exit $failed
"#;

const README: &str = r#"# Greeter

    $ sh greet.sh
    Hello, world!
    $ sh greet.sh Ada
    Hello, Ada!
    $ sh greet.sh --shout Ada
    HELLO, ADA!

`sh test.sh` runs the tests.
"#;
