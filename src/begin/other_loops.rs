//! Configurations of other loops, translated to flags of ralph.
//!
//! They have no effect on ralph: a project must not choose programs or spending, and each of these files was written
//! for another program. The flags are shown for a person to type. Only values of harmless characters are shown, since
//! users copy them into a shell.

use std::path::Path;

use ralph_system::files::read_text;

/// Maximum size of a file that is read.
const CAP_BYTES: u64 = 1 << 18;
const RALPHRC: &str = ".ralphrc";
const RALPH_YML: &str = "ralph.yml";

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

/// Finds the configuration of another loop.
pub(crate) fn other_loop(project: &Path) -> Option<OtherLoop> {
    let read = |file: &'static str| read_text(&project.join(file), CAP_BYTES).ok();
    let of_file = |file, found| OtherLoop { file, ..found };
    match (read(RALPHRC), read(RALPH_YML)) {
        (Some(text), _) => Some(of_file(RALPHRC, parse_ralphrc(&text))),
        (None, Some(text)) => Some(of_file(RALPH_YML, parse_ralph_yml(&text))),
        (None, None) => None,
    }
}

/// The counterpart of another loop's key: the flag, and a suffix for its value.
enum FlagMapping {
    Flag(&'static str, &'static str),
    /// The key concerns only the other loop.
    Nothing,
}

fn taken(
    of: &'static str,
    entries: &[(String, String)],
    here: impl Fn(&str, &str) -> Option<FlagMapping>,
) -> OtherLoop {
    let mut found = OtherLoop {
        file: "",
        of,
        flags: Vec::new(),
        left_out: Vec::new(),
    };
    for (key, value) in entries {
        match here(key, value) {
            Some(FlagMapping::Nothing) => {}
            Some(FlagMapping::Flag(flag, unit)) if is_harmless(value) => {
                found.flags.push(format!("{flag} {value}{unit}"))
            }
            Some(FlagMapping::Flag(..)) | None => found.left_out.push(key.clone()),
        }
    }
    found
}

/// Whether a value is a plain word to a shell.
fn is_harmless(value: &str) -> bool {
    let is_plain = |sign: char| sign.is_ascii_alphanumeric() || "._/:-".contains(sign);
    !value.is_empty() && value.len() <= 80 && !value.starts_with('-') && value.chars().all(is_plain)
}

/// Reads the configuration of ralph-claude-code: lines `KEY=VALUE`.
fn parse_ralphrc(text: &str) -> OtherLoop {
    let lines = text.lines().map(|line| line.trim().trim_start_matches("export "));
    let entries = lines.filter(|line| !line.starts_with('#')).filter_map(|line| {
        let (key, value) = line.split_once('=')?;
        let is_key = |sign: char| sign.is_ascii_uppercase() || sign.is_ascii_digit() || sign == '_';
        let is_key = !key.is_empty() && key.len() <= 40 && key.chars().all(is_key);
        is_key.then(|| (key.to_owned(), unquoted(value)))
    });
    let entries: Vec<_> = entries.collect();
    let mut found = taken("ralph-claude-code", &entries, |key, value| {
        Some(match key {
            "MAX_CALLS_PER_HOUR" => FlagMapping::Flag("--calls-per-hour", ""),
            "CLAUDE_TIMEOUT_MINUTES" => FlagMapping::Flag("--iteration-timeout", "m"),
            "CLAUDE_MODEL" => FlagMapping::Flag("--model", ""),
            "PROJECT_NAME"
            | "PROJECT_TYPE"
            | "CLAUDE_OUTPUT_FORMAT"
            | "SESSION_EXPIRY_HOURS"
            | "TASK_SOURCES"
            | "SESSION_CONTINUITY" => FlagMapping::Nothing,
            "CLAUDE_AUTO_UPDATE" | "CLAUDE_MIN_VERSION" | "RALPH_VERBOSE" | "CB_AUTO_RESET" => FlagMapping::Nothing,
            "GITHUB_TASK_LABEL" | "BEADS_FILTER" if value.is_empty() => FlagMapping::Nothing,
            _ => return None,
        })
    });
    found.flags.insert(0, "--adapter claude".to_owned());
    let continues = |(key, value): &(String, String)| key == "SESSION_CONTINUITY" && value == "true";
    if entries.iter().any(continues) {
        found.flags.push("--session resume".to_owned());
    }
    found
}

/// Reads the configuration of ralph-orchestrator: YAML, of which only plain values up to one section deep matter here.
fn parse_ralph_yml(text: &str) -> OtherLoop {
    taken("ralph-orchestrator", &plain_yaml(text), |key, value| {
        let (section, name) = key.split_once('.').unwrap_or(("event_loop", key));
        Some(match (section, name) {
            ("event_loop", "max_iterations") => FlagMapping::Flag("--max-iterations", ""),
            ("event_loop", "max_runtime_seconds" | "max_runtime") => FlagMapping::Flag("--max-time", "s"),
            ("event_loop", "idle_timeout_secs") => FlagMapping::Flag("--idle-timeout", "s"),
            ("event_loop", "max_cost_usd" | "max_cost") | ("resources", "max_cost") => {
                FlagMapping::Flag("--max-cost-usd", "")
            }
            ("event_loop", "prompt_file") if value != "PROMPT.md" => FlagMapping::Flag("--plan", ""),
            ("event_loop", "prompt_file" | "agent" | "verbose" | "checkpoint_interval") => FlagMapping::Nothing,
            ("event_loop", "completion_promise") => FlagMapping::Flag("--promise", ""),
            ("cli", "backend") => match value {
                "claude" | "codex" | "gemini" => FlagMapping::Flag("--adapter", ""),
                "opencode" => FlagMapping::Flag("--adapter", "-run"),
                "auto" => FlagMapping::Nothing,
                _ => return None,
            },
            ("cli", "prompt_mode") => FlagMapping::Nothing,
            _ => return None,
        })
    })
}

/// Top-level values, values of sections as `section.key`, and the names of sections with other values.
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
        let found = parse_ralphrc(ralphrc);
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
        let found = parse_ralph_yml(yaml);
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
            let found = parse_ralphrc(&format!("CLAUDE_MODEL={value}\n"));
            assert_eq!(found.flags, ["--adapter claude"], "{value}");
            let found = parse_ralph_yml(&format!(
                "cli:\n  backend: {value}\nevent_loop:\n  prompt_file: \"{value}\"\n"
            ));
            assert_eq!(found.flags, [""; 0], "{value}");
        }
        for text in ["", "\0\0", ":::\n - a\n", "a:\n\t\tb:\n", "=\n= =\n"] {
            assert_eq!(parse_ralph_yml(text).flags, [""; 0]);
            assert_eq!(parse_ralphrc(text).left_out, [""; 0]);
        }
    }
}
