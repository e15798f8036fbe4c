//! Tests of scripts that are composed of commands at random.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use ralph_core::event::Decision;

use super::table_tests::{decided, policy, rows};

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
        "npx -- ",
        "frob gi ",
        "cd a; ",
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
