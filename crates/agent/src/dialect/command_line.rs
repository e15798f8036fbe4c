//! The command lines that codex reports: words that codex quoted, usually a shell and its script.

use std::borrow::Cow;

/// The command as a user would type it, without the shell that codex puts around it: `/bin/bash -lc '…'`.
pub(super) fn bare_command(command: &str) -> Cow<'_, str> {
    let single = || <[String; 1]>::try_from(words(command)?).ok().map(|[word]| word);
    let bare = script(command).or_else(single);
    bare.map_or(Cow::Borrowed(command), Cow::Owned)
}

/// The exact script in `/bin/bash -lc '…'`; `None` for any other command.
pub(crate) fn script(command: &str) -> Option<String> {
    let [shell, flag, script] = <[String; 3]>::try_from(words(command)?).ok()?;
    (shell.ends_with("sh") && matches!(flag.as_str(), "-lc" | "-c")).then_some(script)
}

/// Splits a command line into its words; `None` if a shell would do more than remove quotes.
fn words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = command.chars();
    while let Some(character) = rest.next() {
        match character {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '\'' => break,
                        quoted => word.push(quoted),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => word.push(rest.next().filter(|next| matches!(next, '$' | '`' | '"' | '\\'))?),
                        '$' | '`' => return None,
                        quoted => word.push(quoted),
                    }
                }
            }
            plain if plain.is_alphanumeric() || "+-./:@_,=%]".contains(plain) => {
                word.get_or_insert_default().push(plain);
            }
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_was_typed_and_not_as_it_was_quoted() {
        for (command, bare) in [
            ("/bin/bash -lc 'ls && pwd'", "ls && pwd"),
            (r#"bash -lc "echo \"a\" \\[x\\]""#, r#"echo "a" \[x\]"#),
            ("bash -lc ls", "ls"),
            ("'one word'", "one word"),
            ("git commit -lc x", "git commit -lc x"),
            ("'one", "'one"),
            (r#"bash -lc "$(rm x)""#, r#"bash -lc "$(rm x)""#),
        ] {
            assert_eq!(bare_command(command), bare, "{command}");
        }
    }

    #[test]
    fn the_script_of_a_shell_is_taken_out_to_the_letter_or_not_at_all() {
        for (command, inside) in [
            ("/bin/bash -lc ls", Some("ls")),
            ("/bin/bash -lc 'ls && pwd'", Some("ls && pwd")),
            (r#"bash -lc "echo 'a'""#, Some("echo 'a'")),
            (
                r#"/bin/bash -lc "echo \"a 'b' "'$HOME" | tr -d '"'\\\\'""#,
                Some(r#"echo "a 'b' $HOME" | tr -d '\\'"#),
            ),
            ("bash -lc ''", Some("")),
            ("git commit -lc x", None),
            ("bash -lc ls -l", None),
            ("bash -lc ls; rm x", None),
            (r#"bash -lc "$(rm x)""#, None),
            ("bash -lc 'ls", None),
            (r#"bash -lc "a\b""#, None),
        ] {
            assert_eq!(script(command).as_deref(), inside, "{command}");
        }
    }
}
