//! The programs that get variables with keys of others.

use ralph_policy::{samples, settings, settings::NameList};

settings! {
    /// Variables with keys. An agent gets those that its adapter names (`login.env` and `login.keys`), and none of
    /// other agents; goals, `notify` and ralph's own commands get none. `ralph sandbox` lists them.
    pub struct SharedKeys {
        /// Variables that every agent gets: ["OPENAI_API_KEY"].
        agents("agents"): NameList<Variables> = [],
        /// Variables that goals get: ["OPENAI_API_KEY"].
        goals("goals"): NameList<Variables> = [],
    }
}

samples! {
    /// Names of variables.
    Variables: r#"["OPENAI_API_KEY"]"#;
}
