//! Settings of work trees.

use std::ops::RangeInclusive;

use ralph_policy::{
    settings,
    settings::{
        Duration, Grammar, Limit, Mistake, NameList, Node, PositiveCount, Sample, SingleLine, Switch, WholeNumber,
        accept,
    },
};
use serde_json::Value;

settings! {
    /// Preparation of work trees, so that the project runs in them. `ralph many` makes a work tree for each plan, and one
    /// for merged plans.
    pub struct TreeSettings {
        /// Commands that prepare a work tree before its first iteration, in this order: ["npm ci"]. They run with `sh
        /// -c` as goals do. If one fails, the plan is left, and no agent is started.
        setup("setup"): NameList<TreeCommands> = [],
        /// Commands that run before a work tree is removed: ["dropdb $RALPH_TREE"].
        teardown("teardown"): NameList<TreeCommands> = [],
        /// Files of the project that git ignores and each work tree gets a copy of; patterns as in `.gitignore`:
        /// [".env*", "target/"]. Patterns in a `.worktreeinclude` of the project count as well.
        copy("copy"): NameList<CopyPatterns> = [],
        /// Maximum size of these copies for each work tree, in MiB. Beyond it, ralph asks, or refuses to start if
        /// nobody can answer.
        copy_mib("copyMiB"): Limit<PositiveCount> = 1024,
        /// Directories and files of the project that all work trees share by symbolic links: ["node_modules"]. The sandbox
        /// lets agents and goals read them.
        link("link"): NameList<LinkedPaths> = [],
        /// Number of TCP ports that are reserved for each work tree. Agents and goals find them in RALPH_PORT_1,
        /// RALPH_PORT_2 and so on; RALPH_PORT is the first one.
        ports("ports"): WholeNumber<0, 100> = 0,
        /// Range of these ports.
        port_range("portRange"): PortRange = "20000-29999",
        /// Whether a work tree that is removed takes along files that git ignores. Otherwise those that no tool can make
        /// again are kept in the batch's directory.
        discard_ignored("discardIgnored"): Switch = false,
        /// Maximum duration of each command.
        timeout_ms("timeout"): Duration = "15m",
    }
}

/// Commands for `sh -c`.
pub struct TreeCommands;

impl Sample for TreeCommands {
    const SAMPLE: &'static str = r#"["npm ci", "npm run migrate"]"#;
}

/// Patterns in the syntax of `.gitignore`.
pub struct CopyPatterns;

impl Sample for CopyPatterns {
    const SAMPLE: &'static str = r#"[".env*", "target/"]"#;
}

/// Paths in the project.
pub struct LinkedPaths;

impl Sample for LinkedPaths {
    const SAMPLE: &'static str = r#"["node_modules", "data/fixtures"]"#;
}

/// A range of TCP ports, both ends included.
pub struct PortRange;

impl Grammar for PortRange {
    type Value = RangeInclusive<u16>;

    fn read(node: &Node, key: &str) -> Result<Self::Value, Vec<Mistake>> {
        let range = node.text().and_then(|text| {
            let (first, last) = text.split_once('-')?;
            let (first, last) = (first.trim().parse::<u16>().ok()?, last.trim().parse::<u16>().ok()?);
            (0 < first && first <= last).then_some(first..=last)
        });
        accept::<Self>(node, key, range)
    }

    fn expected() -> String {
        r#"a range of ports, such as "20000-29999""#.to_owned()
    }

    fn schema() -> Value {
        SingleLine::schema()
    }
}
