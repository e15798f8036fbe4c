//! Finds what a work tree of a project needs so that its project runs there.

use std::path::Path;

use ralph_driver::installers;
use serde_json::{Map, Value, json};

const COMPOSE_FILES: [&str; 4] = [
    "compose.yaml",
    "compose.yml",
    "docker-compose.yml",
    "docker-compose.yaml",
];

/// Returns the settings in `tree` for a project; empty if a work tree needs nothing.
pub(crate) fn tree_settings(project: &Path) -> Map<String, Value> {
    let has = |name: &str| project.join(name).exists();
    let setup = installers(project);
    let mut settings = Map::new();
    if !setup.is_empty() {
        settings.insert("setup".to_owned(), json!(setup));
    }
    if has(".env") || has(".env.example") || has(".env.local") {
        settings.insert("copy".to_owned(), json!([".env*"]));
    }
    settings
}

/// Returns a note on the services that a compose file of the project describes; `None` if there is no such file.
pub(crate) fn services_note(project: &Path) -> Option<String> {
    let file = COMPOSE_FILES.iter().find(|file| project.join(file).exists())?;
    Some(format!(
        "note: {file}: work trees of `ralph many` would share its services. For services of their own, add to `tree`: \
         \"setup\": [\"docker compose -p $RALPH_TREE up --detach --wait\"], \"teardown\": [\"docker compose -p $RALPH_TREE \
         down --volumes\"], \"ports\": 1 (RALPH_PORT), and to your own settings \"sandbox\": {{\"sockets\": [\"docker\"]}}"
    ))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn found(files: &[&str]) -> Value {
        let project = tempfile::tempdir().unwrap();
        for file in files {
            fs::write(project.path().join(file), "").unwrap();
        }
        Value::Object(tree_settings(project.path()))
    }

    #[test]
    fn lock_files_and_variables_say_what_a_work_tree_needs() {
        for (files, expected) in [
            (&["Cargo.toml", "Cargo.lock"][..], json!({})),
            (&["package-lock.json"], json!({"setup": ["npm ci"]})),
            (
                &["package-lock.json", "pnpm-lock.yaml", "uv.lock", ".env.example"],
                json!({"setup": ["pnpm install --frozen-lockfile", "uv sync --frozen"], "copy": [".env*"]}),
            ),
            (&["requirements.txt"], json!({})),
        ] {
            assert_eq!(found(files), expected, "{files:?}");
        }
        let environment = &found(&["requirements.txt", ".venv"])["setup"][0];
        assert!(
            environment.as_str().unwrap().starts_with("python3 -m venv"),
            "{environment}"
        );
    }
}
