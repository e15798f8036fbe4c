//! The script of the demo agent: its actions for each task. It needs only a shell and git.
//!
//! The agent makes one mistake: it claims its last task without having run the tests. `GOAL` finds that mistake.

/// A plan of tasks that all have a recipe.
pub(super) const PLAN: &str = r#"# A greeter

A small program for the shell, with a test that proves what it does. One task at a time.

- [ ] Write `greet.sh`: it greets whoever is named, or the world
- [ ] Write `test.sh`: it runs `greet.sh` and compares what it prints
- [ ] Write `README.md`, with the examples that were run
- [ ] Teach `greet.sh` the option `--shout`, and test it
"#;

/// The goal that verifies the plan, as name and command.
pub(super) const GOAL: &str = "tests=sh test.sh";

/// The actions for one task.
pub(super) struct Recipe {
    /// Words that identify a task with this recipe.
    pub task: &'static [&'static str],
    pub thought: &'static str,
    /// Path and content of the files to write.
    pub files: &'static [(&'static str, &'static str)],
    /// Run with `sh -c` once the files exist; must succeed.
    pub command: Option<&'static str>,
    pub commit: &'static str,
    pub done: &'static str,
}

pub(super) fn recipe_for(task: &str) -> Option<&'static Recipe> {
    RECIPES
        .iter()
        .find(|recipe| recipe.task.iter().all(|word| task.contains(word)))
}

/// The fix that the agent makes after its claim was refused.
pub(super) struct Repair {
    pub path: &'static str,
    pub broken: &'static str,
    pub sound: &'static str,
    /// Fails before the fix, and succeeds after it.
    pub command: &'static str,
    pub thought: &'static str,
    pub commit: &'static str,
    pub done: &'static str,
}

pub(super) const REPAIR: Repair = Repair {
    path: "greet.sh",
    broken: GREET_HASTY,
    sound: GREET_SHOUT,
    command: "sh test.sh",
    thought: "The option is taken for the name: a `shift` is missing. Running the tests would have told me.",
    commit: "Take the option off before the name is looked at",
    done: "The greeter shouts when it is told to, and three tests say so.",
};

const RECIPES: [Recipe; 4] = [
    Recipe {
        task: &["--shout"],
        thought: "One option and one test for it: I am sure that this works, even without running it.",
        files: &[("greet.sh", GREET_HASTY), ("test.sh", TEST_SHOUT)],
        command: None,
        commit: "Teach the greeter to shout",
        done: "The greeter shouts when it is told to.",
    },
    Recipe {
        task: &["Write", "test.sh"],
        thought: "A test should print what it expected when it fails. Then I run it, of course.",
        files: &[("test.sh", TEST)],
        command: Some("sh test.sh"),
        commit: "Test the greeter",
        done: "Both cases are tested, and pass.",
    },
    Recipe {
        task: &["Write", "README.md"],
        thought: "Examples are the best documentation, as long as somebody runs them. I do.",
        files: &[("README.md", README)],
        command: Some("sh greet.sh && sh greet.sh Ada"),
        commit: "Describe the greeter",
        done: "The page shows two examples, and each of them was run.",
    },
    Recipe {
        task: &["Write", "greet.sh"],
        thought: "Plain sh will do: one line for the name, one to print it.",
        files: &[("greet.sh", GREET)],
        command: Some("sh greet.sh && sh greet.sh Ada"),
        commit: "Add the greeter",
        done: "It greets the world, and anybody by name.",
    },
];

const GREET: &str = r#"#!/bin/sh
# Greets whoever is named, or the world.
name=${1:-world}
echo "Hello, $name!"
"#;

/// The greeter that can shout. Without its `shift`, `--shout` is taken for the name.
macro_rules! shouting {
    ($shift:literal) => {
        concat!(
            r#"#!/bin/sh
# Greets whoever is named, or the world; with --shout so that everybody hears it.
shout=no
if [ "$1" = "--shout" ]; then
    shout=yes
"#,
            $shift,
            r#"fi
name=${1:-world}
greeting="Hello, $name!"
if [ "$shout" = yes ]; then
    greeting="$greeting!!"
fi
echo "$greeting"
"#
        )
    };
}

const GREET_HASTY: &str = shouting!("");
const GREET_SHOUT: &str = shouting!("    shift\n");

/// The test, with lines for more cases.
macro_rules! testing {
    ($more:literal) => {
        concat!(
            r#"#!/bin/sh
# Compares what greet.sh prints with what it should print.
count=0
failed=0
check() {
    expected=$1
    shift
    count=$((count + 1))
    actual=$(sh greet.sh "$@")
    if [ "$actual" = "$expected" ]; then
        echo "ok $count - $expected"
    else
        echo "not ok $count - expected '$expected', got '$actual'"
        failed=1
    fi
}
check "Hello, world!"
check "Hello, Ada!" Ada
"#,
            $more,
            r#"echo "1..$count"
exit $failed
"#
        )
    };
}

const TEST: &str = testing!("");
const TEST_SHOUT: &str = testing!("check \"Hello, Ada!!!\" --shout Ada\n");

const README: &str = r#"# Greeter

    $ sh greet.sh
    Hello, world!
    $ sh greet.sh Ada
    Hello, Ada!

`sh test.sh` runs the tests.
"#;
