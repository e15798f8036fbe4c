//! Tests of the commands and verdicts in `commands.txt`, `arguments.txt` and `daily.txt`.

use ralph_core::{
    event::{self, Decision, PermissionMode, ToolKinds},
    testing::server_tool_asked,
};

use super::{
    PathResolver, PermissionVerdict, PolicyRequest, Rule, RuleList, RulePolicy, ToolClass, offered, remember::rule_for,
    tool_class, with_granted,
};
use crate::settings::SettingOrigin;

const TABLES: [&str; 3] = [
    include_str!("commands.txt"),
    include_str!("arguments.txt"),
    include_str!("daily.txt"),
];

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

    fn is_directory(&self, absolute: &str) -> bool {
        absolute == "/home/u/.aws"
    }
}

pub(super) fn policy(text: &str) -> RulePolicy {
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

pub(super) fn decided(policy: &RulePolicy, command: &str) -> PermissionVerdict {
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

pub(super) fn rows() -> Vec<(RulePolicy, Decision, String)> {
    let (mut current, mut rows) = (RulePolicy::default(), Vec::new());
    let lines = TABLES.iter().flat_map(|table| table.lines());
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
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
    assert!(rows.len() >= 800, "{}", rows.len());
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
