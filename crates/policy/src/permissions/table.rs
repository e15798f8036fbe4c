//! Tests of the commands and verdicts in `commands.txt`, and of scripts composed of commands.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use ralph_core::{
    event::{self, Decision, PermissionMode, ToolKinds},
    testing::server_tool_asked,
};

use super::{
    PathResolver, PermissionVerdict, PolicyRequest, Rule, RuleList, RulePolicy, ToolClass, offered, remember::rule_for,
    tool_class, with_granted,
};
use crate::settings::SettingOrigin;

const TABLE: &str = include_str!("commands.txt");

/// A project at `/p` with a link to `/p/secret`, and the home directory `/home/u`.
pub(super) struct FixedPaths;

impl PathResolver for FixedPaths {
    fn project(&self) -> &str {
        "/p"
    }

    fn home(&self) -> Option<&str> {
        Some("/home/u")
    }

    fn canonical(&self, absolute: &str) -> Option<String> {
        absolute.strip_prefix("/p/link").map(|rest| format!("/p/secret{rest}"))
    }
}

fn policy(text: &str) -> RulePolicy {
    let mut parts = text.split(';').map(str::trim);
    let mode = match parts.next().unwrap() {
        "auto" => PermissionMode::Auto,
        "ask" => PermissionMode::Ask,
        "restricted" => PermissionMode::Restricted,
        "readonly" => PermissionMode::Readonly,
        other => panic!("{other}"),
    };
    let mut policy = RulePolicy {
        mode,
        ..RulePolicy::default()
    };
    for rule in parts {
        let (list, rule) = rule.split_once(' ').unwrap();
        let read =
            |list| Rule::read(rule, list, &SettingOrigin::Default).unwrap_or_else(|error| panic!("{rule}: {error}"));
        match list {
            "deny" => policy.deny.push(read(RuleList::Deny)),
            "ask" => policy.ask.push(read(RuleList::Ask)),
            "allow" => policy.allow.push(read(RuleList::Allow)),
            // A granted rule, and the `ask` rules after `over` that it answers.
            "grant" => {
                let (rule, over) = rule.split_once(" over ").unwrap_or((rule, ""));
                let over: Vec<String> = over.split(", ").map(str::to_owned).collect();
                policy = with_granted(&policy, &[rule.to_owned()], &over, "an answer").unwrap();
            }
            other => panic!("{other}"),
        }
    }
    policy
}

fn shell(command: &str) -> PolicyRequest {
    PolicyRequest {
        tool: "Bash".to_owned(),
        kind: ToolClass::Shell,
        command: Some(command.to_owned()),
        paths: Vec::new(),
        url: None,
    }
}

fn decided(policy: &RulePolicy, command: &str) -> PermissionVerdict {
    policy.decide(&shell(command), &FixedPaths)
}

fn unescaped(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once('\\') {
        out.push_str(before);
        let (character, behind) = match behind.split_at(1) {
            ("n", behind) => ('\n', behind),
            ("r", behind) => ('\r', behind),
            ("t", behind) => ('\t', behind),
            ("0", behind) => ('\0', behind),
            ("\\", behind) => ('\\', behind),
            ("u", behind) => {
                let (code, behind) = behind[1..].split_once('}').unwrap();
                (char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap(), behind)
            }
            (other, _) => panic!("\\{other} in {text}"),
        };
        out.push(character);
        rest = behind;
    }
    out + rest
}

fn rows() -> Vec<(RulePolicy, Decision, String)> {
    let (mut current, mut rows) = (RulePolicy::default(), Vec::new());
    for line in TABLE.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(text) = line.strip_prefix("@ ") {
            current = policy(text);
            continue;
        }
        let (verdict, command) = line.split_at(7);
        let decision = match verdict.trim() {
            "allow" => Decision::Allow,
            "ask" => Decision::Ask,
            "deny" => Decision::Deny,
            other => panic!("{other}"),
        };
        rows.push((current.clone(), decision, unescaped(command)));
    }
    rows
}

#[test]
fn every_command_of_the_table_is_decided_as_it_says() {
    let rows = rows();
    assert!(rows.len() >= 200, "{}", rows.len());
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(policy, expected, command)| {
            let verdict = decided(policy, command);
            (verdict.decision != *expected).then(|| {
                format!(
                    "{command:?} ({:?}): {:?} instead of {expected:?}\n    {:?}",
                    policy.mode, verdict.decision, verdict.parts
                )
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

#[test]
fn what_always_adds_allows_the_same_request() {
    for (_, _, command) in rows() {
        let request = shell(&command);
        let rules = rule_for(&request, FixedPaths.project());
        // A rule for the path of a link does not allow its target.
        if rules.is_empty() || command.contains("link/") {
            continue;
        }
        let allow = rules.iter().map(|rule| {
            Rule::read(rule, RuleList::Allow, &SettingOrigin::Default)
                .unwrap_or_else(|error| panic!("{command:?}: {rule}: {error}"))
        });
        let policy = RulePolicy {
            mode: PermissionMode::Restricted,
            allow: allow.collect(),
            ..RulePolicy::default()
        };
        let verdict = policy.decide(&request, &FixedPaths);
        assert_eq!(
            verdict.decision,
            Decision::Allow,
            "{command:?} {rules:?} {:?}",
            verdict.parts
        );
    }
}

#[test]
fn what_is_offered_allows_the_request_that_was_asked_and_lifts_no_denial() {
    let mut offers = 0;
    for (policy, expected, command) in rows() {
        let request = shell(&command);
        let offer = offered(&policy, &request, &FixedPaths);
        if offer.rules.is_empty() || expected != Decision::Ask {
            continue;
        }
        offers += 1;
        let granted = with_granted(&policy, &offer.rules, &offer.asked_by, "an answer").unwrap();
        assert_eq!(
            granted.decide(&request, &FixedPaths).decision,
            Decision::Allow,
            "{command:?}"
        );
        // Added rules never lift a denial.
        let all = ["Bash", "Edit", "Read"].map(str::to_owned);
        let open = with_granted(&policy, &all, &offer.asked_by, "an answer").unwrap();
        for (other, decision, command) in rows() {
            if other == policy && decision == Decision::Deny && policy.mode == PermissionMode::Auto {
                assert_ne!(
                    open.decide(&shell(&command), &FixedPaths).decision,
                    Decision::Allow,
                    "{command:?}"
                );
            }
        }
    }
    assert!(offers >= 15, "{offers}");
}

#[test]
fn every_rule_of_ask_that_asks_is_settled_by_the_answer() {
    let policy = policy("ask; ask Bash(npm *); ask Bash(npm publish *); ask Bash(rm *)");
    let offer = offered(&policy, &shell("npm publish --tag next"), &FixedPaths);
    assert_eq!(offer.asked_by, ["Bash(npm *)", "Bash(npm publish *)"]);
    assert_eq!(offer.rules, ["Bash(npm publish *)"]);
    assert_eq!(
        offered(&policy, &shell("$X"), &FixedPaths).rules,
        [""; 0],
        "no rule says what it is"
    );
    assert_eq!(
        offered(&policy, &shell("npm publish; eval x"), &FixedPaths).rules,
        [""; 0]
    );
}

#[test]
fn a_file_of_the_project_is_offered_by_its_name_there() {
    let edit = |path: &str| PolicyRequest {
        tool: "Edit".to_owned(),
        kind: ToolClass::Edit,
        command: None,
        paths: vec![path.to_owned()],
        url: None,
    };
    let ask = policy("ask");
    for (path, rule) in [
        ("/p/src/main.rs", "Edit(./src/main.rs)"),
        ("src/main.rs", "Edit(./src/main.rs)"),
        ("/etc/hosts", "Edit(//etc/hosts)"),
        ("/project/x", "Edit(//project/x)"),
    ] {
        assert_eq!(offered(&ask, &edit(path), &FixedPaths).rules, [rule]);
    }
    // A rule for the path of a link would not allow its target.
    assert_eq!(offered(&ask, &edit("/p/link/key"), &FixedPaths).rules, [""; 0]);
}

/// A deterministic random number generator.
struct TestRng(u64);

impl TestRng {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    fn pick<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.below(choices.len())]
    }
}

const DENIED: &[&str] = &[
    "git push",
    "git push origin",
    "g'i't push",
    "git -C x push",
    "/usr/bin/git push",
    "\\git push",
];

const SAFE: &[&str] = &[
    "ls",
    "echo 'it''s (fine)'",
    "cat x | wc -l",
    "true",
    "grep -r 'a;b' .",
    "A=b make",
    "echo \"$HOME\" # done\n",
    "cat <<'E'\n$( ` ( git\nE\n",
    "for i in 1 2; do ls; done",
    "case $x in a) ls;; *) :;; esac",
    "[[ -f x && $y =~ ^a ]]",
    "echo $((1 + 2))",
    "x=(1 2)",
    "ls 2>&1 >/dev/null",
    "if ls; then :; fi",
    "printf '%s\\n' \"a b\"",
];

/// Constructs that contain a command and keep it visible.
const AROUND: &[(&str, &str)] = &[
    ("(", ")"),
    ("{ ", "; }"),
    ("$(", ")"),
    ("echo \"$(", ")\""),
    ("echo ${x:-$(", ")}"),
    ("if ", "; then :; fi"),
    ("if true; then ", "; fi"),
    ("while ", "; do :; done"),
    ("for x in a; do ", "\ndone"),
    ("case x in x) ", ";; esac"),
    ("f() { ", "; }"),
    ("! ", ""),
    ("x=$(", ")"),
    ("ls <(", ")"),
    ("cat <<E\n$(", ")\nE\n"),
    ("coproc ", ""),
    ("[[ -n $(", ") ]]"),
    ("( (", ") )"),
    ("echo $(( $(", ") ))"),
    ("a=(", ")"),
    ("time ", ""),
];

/// Prefixes of simple commands.
const IN_FRONT: &[&str] = &[
    "env ",
    "env A=b ",
    "sudo -u x ",
    "timeout 5 ",
    "nice -n 3 ",
    "nohup ",
    "command ",
    "exec ",
    "xargs ",
    "setsid ",
    ">log ",
    "stdbuf -oL ",
    "find . -exec ",
    "time -p ",
];

fn composed(random: &mut TestRng, denied: &str, depth: usize) -> String {
    let mut script = denied.to_owned();
    for _ in 0..random.below(3) {
        script = format!("{}{script}", random.pick(IN_FRONT));
        if script.starts_with("find") {
            script.push_str(" \\;");
        }
    }
    if random.below(4) == 0 {
        script.insert_str(0, "A=b ");
    }
    for _ in 0..depth {
        script = match random.below(5) {
            0 if !script.contains(['\'', '\n']) => {
                format!("{} -c '{script}'", random.pick(&["sh", "bash", "zsh", "/bin/sh"]))
            }
            1 | 2 => {
                let operator = random.pick(&[";", " && ", " || ", "\n", " | ", " & "]);
                match random.below(2) {
                    0 => match random.pick(SAFE) {
                        line if line.ends_with('\n') => format!("{line}{script}"),
                        safe => format!("{safe}{operator}{script}"),
                    },
                    _ => format!("{script}{operator}{}", random.pick(SAFE)),
                }
            }
            _ => {
                let (before, behind) = AROUND[random.below(AROUND.len())];
                let inner = if before == "a=(" {
                    format!("$({script})")
                } else {
                    script
                };
                // A comment or a here-document ends at a newline.
                format!("{before}{inner}{}{behind}", if behind.is_empty() { "" } else { "\n" })
            }
        };
    }
    script
}

#[test]
fn no_script_with_a_denied_part_is_allowed() {
    let denied = policy("auto; deny Bash(git push *)");
    let restricted = policy("restricted; allow Bash; deny Bash(git push *)");
    let asked = policy("auto; ask Bash(git push *)");
    let answered = policy("ask; deny Bash(git push *); grant Bash");
    let mut random = TestRng(0x2545_F491_4F6C_DD1D);
    let (mut plain, mut wrong) = (0, Vec::new());
    for at in 0..20_000 {
        let command = random.pick(DENIED);
        let depth = random.below(5);
        let script = composed(&mut random, command, depth);
        let verdicts = [&denied, &restricted, &asked].map(|policy| decided(policy, &script).decision);
        plain += usize::from(verdicts[0] == Decision::Deny);
        let granted = at % 4 == 0 && decided(&answered, &script).decision == Decision::Allow;
        if granted || verdicts[0] == Decision::Allow || verdicts[1..] != [Decision::Deny, Decision::Ask] {
            wrong.push(format!("{script:?} {verdicts:?}"));
        }
    }
    wrong.truncate(10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // Scripts that are asked about instead are those that shells would refuse.
    assert!(plain > 17_000, "{plain}");
}

/// Runs a script in a real shell that finds only the test's git. Returns whether that was called with `push`.
fn pushes(shell: &str, script: &str, directory: &Path) -> bool {
    let pushed = directory.join("pushed");
    let outcome = Command::new(shell)
        .args(["-c", script])
        .env_clear()
        .env("PATH", directory.join("bin"))
        .current_dir(directory)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    assert!(outcome.is_ok(), "{shell}: {outcome:?}");
    fs::remove_file(pushed).is_ok()
}

#[test]
fn what_is_allowed_pushes_in_no_real_shell() {
    let directory = tempfile::tempdir().unwrap();
    let git = directory.path().join("bin").join("git");
    fs::create_dir(directory.path().join("bin")).unwrap();
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = push ] && echo > {}/pushed\n",
        directory.path().display()
    );
    fs::write(&git, text).unwrap();
    fs::set_permissions(&git, fs::Permissions::from_mode(0o755)).unwrap();
    assert!(pushes("/bin/sh", "echo x; git push", directory.path()));
    assert!(!pushes("/bin/sh", "echo git push", directory.path()));
    let denied = policy("auto; deny Bash(git push *); deny Edit(/secret/**)");
    // No loops and no background jobs, so that every script terminates.
    let pieces = [
        "(",
        ")",
        "((",
        "))",
        "{ ",
        "; }",
        ";",
        "\n",
        " && ",
        " || ",
        " | ",
        "if ",
        "; then ",
        "; fi",
        "for x in ",
        "; do ",
        "; done",
        "case x in ",
        "x) ",
        ";; ",
        "esac ",
        "[[ ",
        " ]] ",
        "$(",
        "$((",
        "`",
        "\"",
        "'",
        "${x:-",
        "}",
        "<<E\n",
        "\nE\n",
        "<<<",
        " >x ",
        "\\",
        "#",
        " # ",
        "=",
        "a=(",
        "git push",
        "git push ",
        "git ",
        "push",
        " ",
        "echo ",
        "! ",
        "time ",
        "true",
        "\t",
        "\\\n",
        "$'",
        "{a,",
        "eval",
        "command ",
        "x",
        "1",
        "a=b ",
        "~",
        "*",
        "[",
        "]",
        "$x",
    ];
    let mut random = TestRng(0xDEAD_BEEF_CAFE_F00D);
    let (mut ran, mut wrong) = (0, Vec::new());
    let composed = (0..60_000).map(|_| {
        let mut script: String = (0..3 + random.below(9))
            .map(|_| pieces[random.below(pieces.len())])
            .collect();
        script.push_str(["", "git push", "; git push", "\ngit push\n"][random.below(4)]);
        script
    });
    let table = rows()
        .into_iter()
        .map(|(_, _, command)| command)
        .filter(|command| !command.contains(['\0', '/']));
    for script in table.chain(composed) {
        if !script.contains("push") || decided(&denied, &script).decision != Decision::Allow || ran > 600 {
            continue;
        }
        ran += 1;
        let shells = ["/bin/bash", "/bin/sh"]
            .into_iter()
            .filter(|shell| Path::new(shell).exists());
        let pushing = shells.filter(|shell| pushes(shell, &script, directory.path()));
        wrong.extend(pushing.map(|shell| format!("{shell} {script:?}")));
    }
    assert!(ran > 200, "{ran}");
    wrong.truncate(10);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn any_text_gets_a_verdict() {
    let policy = policy("auto; deny Bash(git push *); deny Edit(/secret/**); allow Bash(ls *)");
    let pieces = [
        "(",
        ")",
        "((",
        "))",
        "{",
        "}",
        ";",
        ";;",
        "\n",
        "&&",
        "||",
        "|",
        "&",
        "if ",
        "then ",
        "fi ",
        "for ",
        "in ",
        "do ",
        "done ",
        "case ",
        "esac ",
        "[[ ",
        " ]]",
        "$(",
        "$((",
        "`",
        "\"",
        "'",
        "${",
        "<(",
        ">(",
        "<<E\n",
        "\nE\n",
        "<<<",
        ">",
        "<",
        "\\",
        "#",
        "~",
        "*",
        "[",
        "]",
        "{a,",
        "$'",
        "=",
        "a=(",
        "git push",
        " ",
        "bash -c ",
        "xargs ",
        "find -exec ",
        "é",
        "\u{a0}",
        "\r",
        "\u{1f980}",
        "watch ",
        "sudo ",
        "function ",
        "f() ",
        "time ",
        "coproc ",
        "! ",
        "-",
        "git ",
    ];
    let mut random = TestRng(0x9E37_79B9_7F4A_7C15);
    for _ in 0..20_000 {
        let (motif, times) = (1 + random.below(5), 1 + random.below(20));
        let motif: String = (0..motif).map(|_| pieces[random.below(pieces.len())]).collect();
        let tail: String = (0..random.below(12))
            .map(|_| pieces[random.below(pieces.len())])
            .collect();
        let script = motif.repeat(times) + &tail;
        _ = decided(&policy, &script);
        let bytes: Vec<u8> = (0..random.below(60))
            .map(|_| u8::try_from(random.below(256)).unwrap())
            .collect();
        _ = decided(&policy, &String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn a_deep_or_long_command_is_asked_without_end_of_stack_or_time() {
    let policy = policy("auto; deny Bash(git push *)");
    for opened in [
        "(",
        "$(",
        "((",
        "$((",
        "{ ",
        "${a:-",
        "\"$(",
        "`",
        "if ",
        "case x in x) ",
        "f() { ",
        "[[ ( ",
        "a=(",
        "<(",
        "! ",
        "while ",
        "bash -c 'bash -c \"",
        "sudo ",
        "watch ",
        "xargs ",
        "find -exec ",
        "((((",
        "$(( $(",
        "(( $(( ",
        "[",
        "{",
        "{a",
        "cat <<E $(",
        "$'",
        "*",
        "git -C ",
        "=",
        "a[",
        "for ((",
        "time ",
        "function ",
        "\\\n",
        "((1)) ",
        "((1 (",
        "$X",
    ] {
        for text in [
            opened.repeat(5_000),
            opened.repeat(65_000 / opened.len()),
            opened.repeat(400_000),
        ] {
            let verdict = decided(&policy, &text).decision;
            assert_ne!(verdict, Decision::Deny, "{opened}");
        }
    }
    let million = "x".repeat(1 << 20);
    assert_eq!(decided(&policy, &million).decision, Decision::Ask);
    assert_eq!(
        decided(&policy, &format!("ls; {}; git push", "ls; ".repeat(3_000))).decision,
        Decision::Ask
    );
}

#[test]
fn other_tools_are_decided_by_name_path_and_host() {
    let policy = policy(
        "ask; deny Edit(/secret/**); deny Read(~/.ssh/**); deny WebFetch(domain:*.evil.test); deny mcp__db__drop; \
         deny Edit(*.lock); allow Edit(src/**); allow Read; allow WebFetch(domain:example.org); allow mcp__db; allow TodoWrite; \
         deny Task; allow Edit(//tmp/**)",
    );
    for (tool, what, expected) in [
        ("Edit", "src/a.rs", Decision::Allow),
        ("Write", "/p/src/a.rs", Decision::Allow),
        ("apply_patch", "./src/../src/a.rs", Decision::Allow),
        ("fileChange", "src/../secret/a", Decision::Deny),
        ("replace", "other.rs", Decision::Ask),
        ("Edit", "src/../../etc/passwd", Decision::Ask),
        ("Edit", "link/a", Decision::Deny),
        ("Edit", "/tmp/x", Decision::Allow),
        ("Edit", "src/deep/Cargo.lock", Decision::Deny),
        ("Edit", "", Decision::Ask),
        ("Read", "src/a.rs", Decision::Allow),
        ("read_file", "~/.ssh/id_rsa", Decision::Deny),
        ("Grep", "/home/u/.ssh", Decision::Deny),
        ("Glob", "~other/x", Decision::Ask),
        ("WebFetch", "https://example.org/x?y", Decision::Allow),
        ("WebFetch", "https://example.org.evil.test/", Decision::Deny),
        ("WebFetch", "https://example.org@www.evil.test/", Decision::Deny),
        ("fetch", "http://EXAMPLE.org.:80/", Decision::Allow),
        ("WebFetch", "https://other.test", Decision::Ask),
        ("WebFetch", "https:a.evil.test", Decision::Deny),
        ("WebFetch", "https:/\\a.evil.test\\x", Decision::Deny),
        ("WebFetch", "https://a%2eevil.test/", Decision::Deny),
        ("WebFetch", "https://a。evil。test/", Decision::Deny),
        ("WebFetch", "https://ａ.ｅｖｉｌ.test/", Decision::Deny),
        ("WebFetch", "a.evil.test:80/x", Decision::Deny),
        ("WebFetch", "https://example。org/", Decision::Allow),
        ("WebFetch", "", Decision::Ask),
        ("mcp__db__read", "", Decision::Allow),
        ("mcp__db__drop", "", Decision::Deny),
        ("mcp__other__read", "", Decision::Ask),
        ("TodoWrite", "", Decision::Allow),
        ("Task", "", Decision::Deny),
        ("SomethingNew", "", Decision::Ask),
    ] {
        let kind = tool_class(tool);
        let is_address = kind == ToolClass::Fetch;
        let some = (!what.is_empty()).then(|| what.to_owned());
        let request = PolicyRequest {
            tool: tool.to_owned(),
            kind,
            command: None,
            paths: some.clone().filter(|_| !is_address).into_iter().collect(),
            url: some.filter(|_| is_address),
        };
        let verdict = policy.decide(&request, &FixedPaths);
        assert_eq!(verdict.decision, expected, "{tool} {what} {:?}", verdict.parts);
    }
}

#[test]
fn a_host_with_several_spellings_is_not_taken_for_another() {
    let fetch = |url: &str| PolicyRequest {
        tool: "WebFetch".to_owned(),
        kind: ToolClass::Fetch,
        command: None,
        paths: Vec::new(),
        url: Some(url.to_owned()),
    };
    let denied = policy("auto; deny WebFetch(domain:evil.test)");
    for url in [
        "https://e\u{ad}vil.test/",
        "https://\u{1d41e}vil.test/",
        "https://e%C2%ADvil.test/",
    ] {
        assert_eq!(denied.decide(&fetch(url), &FixedPaths).decision, Decision::Ask, "{url}");
    }
}

#[test]
fn a_rule_that_could_never_match_is_refused_with_what_to_type() {
    for (rule, expected) in [
        ("", "it names no tool"),
        ("git push", "it names no tool"),
        ("Bsah(ls)", "there is no tool `Bsah`; did you mean `Bash`?"),
        ("Edti", "did you mean `Edit`?"),
        ("Frobnicate", "there is no tool `Frobnicate`; the tools are"),
        ("Bash(git push", "write `Bash(git push)`"),
        ("git push)", "write `Bash(git push)`"),
        ("Bash)", "write `Bash`"),
        ("Bash(git push))", "write `Bash(git push)`"),
        ("Bash()", "write `Bash` for all of it"),
        ("Bash(  )", "write `Bash` for all of it"),
        ("Bash(src/**)", "write `Edit(src/**)` or `Read(src/**)`"),
        ("Bash(ls && git push)", "commands are split at `&&`"),
        ("Bash(ls | sh)", "commands are split at `|`"),
        ("Bash(git commit -m \"x\")", "write `Bash(git commit -m x)`"),
        ("Bash(git:* push)", "only allowed at the end"),
        ("Bash(timeout 5 npm test)", "the command that `timeout` runs"),
        ("Bash(bash -c *)", "the command that `bash` runs"),
        ("Bash(domain:x.org)", "write `WebFetch(domain:x.org)`"),
        ("Edit(domain:x.org)", "write `WebFetch(domain:x.org)`"),
        ("WebFetch(x.org)", "write `WebFetch(domain:example.org)`"),
        ("WebFetch(domain:a/b)", "it is not a host"),
        ("WebFetch(domain:bücher.example)", "hosts are compared in ASCII"),
        ("WebSearch(x)", "write `WebSearch`"),
        ("mcp__db__drop(x)", "write `mcp__db__drop`"),
        ("mcp__", "there is no tool `mcp__`"),
        ("Bash(a\u{7})", "control character"),
    ] {
        let error = Rule::read(rule, RuleList::Allow, &SettingOrigin::Default)
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{rule}: {error}");
    }
    let long = format!("Bash({})", "x".repeat(2_000));
    assert!(Rule::read(&long, RuleList::Deny, &SettingOrigin::Default).is_err());
    assert!(Rule::read("Bash(timeout *)", RuleList::Deny, &SettingOrigin::Default).is_ok());
}

#[test]
fn a_weaker_rule_that_a_stronger_one_covers_is_named() {
    let policy = policy(
        "auto; deny Bash(git push *); deny WebFetch; ask Edit; allow Bash(git push:*); allow WebFetch(domain:a.org); allow Edit(src/**); allow Bash",
    );
    let hidden: Vec<&str> = policy.hidden().iter().map(|(rule, ..)| rule.text.as_str()).collect();
    assert_eq!(hidden, ["Bash(git push:*)", "WebFetch(domain:a.org)", "Edit(src/**)"]);
}

#[test]
fn the_rule_that_always_adds_is_narrow() {
    for (command, rules) in [
        ("npm run test -- --watch", vec!["Bash(npm run test *)"]),
        (
            "git push origin main && ls -la",
            vec!["Bash(git push *)", "Bash(ls -la)"],
        ),
        ("rm -rf build", vec!["Bash(rm -rf build)"]),
        (
            "timeout 5 cargo test > out.txt",
            vec!["Edit(./out.txt)", "Bash(cargo test *)"],
        ),
        ("eval x", vec![]),
        ("$X", vec![]),
        ("rm *", vec![]),
    ] {
        assert_eq!(rule_for(&shell(command), "/p"), rules, "{command}");
    }
}

#[test]
fn a_tool_whose_server_cannot_be_told_from_its_name_is_matched_by_the_whole_name() {
    let policy = policy("auto; deny mcp__db__drop; ask mcp__my_db; deny mcp__flat_name");
    for (name, expected) in [
        ("mcp_db_drop", Decision::Deny),
        ("db_drop", Decision::Deny),
        ("db_drop_all", Decision::Allow),
        ("my_db_read", Decision::Ask),
        ("my_dbs_read", Decision::Allow),
        ("flat_name", Decision::Deny),
    ] {
        let asked = server_tool_asked(name);
        let request = PolicyRequest::from(&asked);
        assert_eq!(policy.decide(&request, &FixedPaths).decision, expected, "{name}");
        if expected == Decision::Allow {
            assert_eq!(rule_for(&request, FixedPaths.project()), [format!("mcp__{name}")]);
        }
    }
}

#[test]
fn rules_concern_the_kinds_of_tools_that_could_do_what_they_are_about() {
    use event::ToolKind::{Edit, Fetch, Mcp, Other, Read, Shell};
    for (rules, kinds) in [
        ("auto; allow Bash", &[][..]),
        ("auto; deny Bash(ls)", &[Shell]),
        ("auto; deny Edit(src/**)", &[Edit, Shell]),
        ("auto; ask Read(a); allow WebFetch", &[Read, Shell]),
        ("auto; deny WebSearch; ask mcp__x", &[Fetch, Mcp]),
        ("auto; deny Task", &[Other]),
        ("ask", &[Shell, Edit, Read, Fetch, Mcp, Other]),
    ] {
        assert_eq!(policy(rules).concerns(), ToolKinds::from_kinds(kinds), "{rules}");
    }
}
