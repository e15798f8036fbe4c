//! Settings of work trees.

use ralph_policy::{
    samples, settings,
    settings::{Limit, NameList, PositiveCount, WholeNumber},
};

settings! {
    /// Preparation of work trees, so that the project runs in them. `ralph many` makes a work tree for each plan, and one
    /// for merged plans.
    pub struct TreeSettings {
        /// Commands that prepare a work tree before its first iteration, in this order: ["npm ci"]. They run with `sh
        /// -c` as goals do, each for a quarter of an hour at most. If one fails, the plan is left, and no agent is started. Those
        /// without a `$RALPH_` variable also install what the work names in the copy in which goals run.
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
    }
}

samples! {
    /// Commands for `sh -c`.
    TreeCommands: r#"["npm ci", "npm run migrate"]"#;
    /// Patterns in the syntax of `.gitignore`.
    CopyPatterns: r#"[".env*", "target/"]"#;
    /// Paths in the project.
    LinkedPaths: r#"["node_modules", "data/fixtures"]"#;
}
