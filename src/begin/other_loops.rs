//! Configurations of other loops, translated to flags of ralph.
//!
//! They have no effect on ralph: a project must not choose programs or spending, and each of these files was written
//! for another program. The flags are shown for a person to type. Only values of harmless characters are shown, since
//! users copy them into a shell.

use std::path::Path;

use ralph_system::files::read_text;

/// Maximum size of a file that is read.
const CAP_BYTES: u64 = 1 << 18;

/// A configuration of another loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherLoop {
    pub(crate) file: &'static str,
    /// The name of the loop.
    pub(crate) of: &'static str,
    /// The settings, as flags of ralph.
    pub(crate) flags: Vec<String>,
    /// Keys without a flag, or with a value that is not shown.
    pub(crate) left_out: Vec<String>,
}

/// The format of another loop's configuration.
struct LoopFormat {
    file: &'static str,
    of: &'static str,
    /// The flag that the loop itself stands for.
    flag: Option<&'static str>,
    /// Reads the keys with plain values.
    entries: fn(&str) -> Vec<(String, String)>,
    /// Each key with a value, and their flag, in which `{}` is the value. Without a flag, the key concerns only the
    /// other loop. The first row that fits counts.
    keys: &'static [(&'static str, &'static str, &'static str)],
}

/// Fits every value.
const ANY: &str = "*";

const RALPHRC: LoopFormat = LoopFormat {
    file: ".ralphrc",
    of: "ralph-claude-code",
    flag: Some("--adapter claude"),
    entries: plain_assignments,
    keys: &[
        ("MAX_CALLS_PER_HOUR", ANY, "--calls-per-hour {}"),
        ("CLAUDE_TIMEOUT_MINUTES", ANY, "--iteration-timeout {}m"),
        ("CLAUDE_MODEL", ANY, "--model {}"),
        ("SESSION_CONTINUITY", "true", "--session resume"),
        ("SESSION_CONTINUITY", ANY, ""),
        ("GITHUB_TASK_LABEL", "", ""),
        ("BEADS_FILTER", "", ""),
        ("PROJECT_NAME", ANY, ""),
        ("PROJECT_TYPE", ANY, ""),
        ("CLAUDE_OUTPUT_FORMAT", ANY, ""),
        ("SESSION_EXPIRY_HOURS", ANY, ""),
        ("TASK_SOURCES", ANY, ""),
        ("CLAUDE_AUTO_UPDATE", ANY, ""),
        ("CLAUDE_MIN_VERSION", ANY, ""),
        ("RALPH_VERBOSE", ANY, ""),
        ("CB_AUTO_RESET", ANY, ""),
    ],
};

/// Keys of the section `event_loop` may also be at the top level.
const RALPH_YML: LoopFormat = LoopFormat {
    file: "ralph.yml",
    of: "ralph-orchestrator",
    flag: None,
    entries: plain_yaml,
    keys: &[
        ("max_iterations", ANY, "--max-iterations {}"),
        ("max_runtime_seconds", ANY, "--max-time {}s"),
        ("max_runtime", ANY, "--max-time {}s"),
        ("idle_timeout_secs", ANY, "--idle-timeout {}s"),
        ("max_cost_usd", ANY, "--max-cost-usd {}"),
        ("max_cost", ANY, "--max-cost-usd {}"),
        ("resources.max_cost", ANY, "--max-cost-usd {}"),
        ("prompt_file", "PROMPT.md", ""),
        ("prompt_file", ANY, "--plan {}"),
        ("completion_promise", ANY, "--promise {}"),
        ("agent", ANY, ""),
        ("verbose", ANY, ""),
        ("checkpoint_interval", ANY, ""),
        ("cli.backend", "claude", "--adapter claude"),
        ("cli.backend", "codex", "--adapter codex"),
        ("cli.backend", "gemini", "--adapter gemini"),
        ("cli.backend", "opencode", "--adapter opencode-run"),
        ("cli.backend", "auto", ""),
        ("cli.prompt_mode", ANY, ""),
    ],
};

/// Finds the configuration of another loop.
pub(crate) fn other_loop(project: &Path) -> Option<OtherLoop> {
    [RALPHRC, RALPH_YML].iter().find_map(|format| {
        let text = read_text(&project.join(format.file), CAP_BYTES).ok()?;
        Some(format.parse(&text))
    })
}

impl LoopFormat {
    fn parse(&self, text: &str) -> OtherLoop {
        let mut flags: Vec<String> = self.flag.iter().map(|flag| (*flag).to_owned()).collect();
        let mut left_out = Vec::new();
        for (key, value) in (self.entries)(text) {
            let name = key.strip_prefix("event_loop.").unwrap_or(&key);
            let fits = |(known, wanted, _): &&(&str, &str, &str)| *known == name && [ANY, &value].contains(wanted);
            match self.keys.iter().find(fits) {
                Some((.., "")) => {}
                Some((.., flag)) if is_harmless(&value) => flags.push(flag.replace("{}", &value)),
                Some(_) | None => left_out.push(key),
            }
        }
        OtherLoop {
            file: self.file,
            of: self.of,
            flags,
            left_out,
        }
    }
}

/// Whether a value is a plain word to a shell.
fn is_harmless(value: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._/:-".contains(sign);
    !value.is_empty() && value.len() <= 80 && !value.starts_with('-') && value.chars().all(is_plain)
}

/// Lines `KEY=VALUE`.
fn plain_assignments(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("export "));
    let entries = lines.filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let is_key = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
        let is_key = !key.is_empty() && key.len() <= 40 && key.chars().all(is_key);
        is_key.then(|| (key.to_owned(), unquoted(value)))
    });
    entries.collect()
}

/// YAML: top-level values, values of sections as `section.key`, and the names of sections with other values.
fn plain_yaml(text: &str) -> Vec<(String, String)> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let (mut section, mut depth) = (String::new(), None);
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let Some((key, value)) = line.trim().split_once(':') else {
            continue;
        };
        let is_key = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        if key.is_empty() || key.len() > 40 || !key.chars().all(is_key) {
            continue;
        }
        let value = unquoted(value);
        match (indent, value.is_empty()) {
            (0, true) => (section, depth) = (key.to_owned(), None),
            (0, false) => {
                section.clear();
                entries.push((key.to_owned(), value));
            }
            _ if section.is_empty() || *depth.get_or_insert(indent) != indent => {}
            (_, true) => entries.push((section.clone(), value)),
            (_, false) => entries.push((format!("{section}.{key}"), value)),
        }
    }
    entries.dedup_by(|later, earlier| later.0 == earlier.0);
    entries
}

/// The value without quotes and without a trailing comment.
fn unquoted(value: &str) -> String {
    let value = value.trim();
    for quote in ['"', '\''] {
        if let Some((inside, _)) = value.strip_prefix(quote).and_then(|rest| rest.split_once(quote)) {
            return inside.to_owned();
        }
    }
    let value = if value.starts_with('#') { "" } else { value };
    value.split(" #").next().unwrap_or(value).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_of_another_loop_is_told_as_flags_of_this_one() {
        let ralphrc = "# .ralphrc\nPROJECT_NAME=\"shop\"\nMAX_CALLS_PER_HOUR=50 # an hour\nexport CLAUDE_TIMEOUT_MINUTES=20\n\
                       ALLOWED_TOOLS=\"Read,Bash(git *)\"\nSESSION_CONTINUITY=true\nCB_NO_PROGRESS_THRESHOLD=2\n";
        let found = RALPHRC.parse(ralphrc);
        assert_eq!(
            found.flags,
            [
                "--adapter claude",
                "--calls-per-hour 50",
                "--iteration-timeout 20m",
                "--session resume"
            ]
        );
        assert_eq!(found.left_out, ["ALLOWED_TOOLS", "CB_NO_PROGRESS_THRESHOLD"]);
        let yaml = "# ralph\nevent_loop:\n  completion_promise: \"LOOP_COMPLETE\"\n  max_iterations: 20   # enough\n  prompt_file: TASK.md\n\
                    cli:\n  backend: 'codex'\ncore:\n  guardrails:\n    - \"a: b\"\n  specs_dir: ./specs/\nhats:\n  builder:\n    name: \"Builder\"\n\
                    max_cost: 5\n";
        let found = RALPH_YML.parse(yaml);
        assert_eq!(
            found.flags,
            [
                "--promise LOOP_COMPLETE",
                "--max-iterations 20",
                "--plan TASK.md",
                "--adapter codex",
                "--max-cost-usd 5"
            ]
        );
        assert_eq!(found.left_out, ["core", "core.specs_dir", "hats"]);
    }

    #[test]
    fn what_a_shell_would_make_more_of_is_not_repeated() {
        for value in [
            "$(rm -rf .)",
            "a;b",
            "`id`",
            "a b",
            "--trust-project",
            "a\u{1b}[2J",
            "x|y",
            &"a".repeat(81),
        ] {
            let found = RALPHRC.parse(&format!("CLAUDE_MODEL={value}\n"));
            assert_eq!(found.flags, ["--adapter claude"], "{value}");
            let found = RALPH_YML.parse(&format!(
                "cli:\n  backend: {value}\nevent_loop:\n  prompt_file: \"{value}\"\n"
            ));
            assert_eq!(found.flags, [""; 0], "{value}");
        }
        for text in ["", "\0\0", ":::\n - a\n", "a:\n\t\tb:\n", "=\n= =\n"] {
            assert_eq!(RALPH_YML.parse(text).flags, [""; 0]);
            assert_eq!(RALPHRC.parse(text).left_out, [""; 0]);
        }
    }
}
