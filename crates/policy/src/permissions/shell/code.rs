//! Commands and code that a program takes from its arguments or its input, and that are in no form that ralph parses.
//!
//! Their words are compared with rules. What is behind a computed value, or in input that is not in the script, is unknown.

use super::{
    programs::{has, is_option},
    words::{HOLE, ShellWord},
};

/// Options of programs whose value is a command.
const COMMANDS: &[(&str, &str)] = &[
    ("ag ack bat batcat delta", "--pager"),
    ("ansible", "-a --args"),
    ("cargo", "--config"),
    ("docker podman nerdctl", "--entrypoint"),
    ("go", "-exec -toolexec"),
    ("gpg gpg2", "--photo-viewer --agent-program --dirmngr-program"),
    ("helm", "--post-renderer"),
    ("make gmake", "--eval"),
    ("man", "-P --pager -H --html"),
    ("npm pnpm yarn", "--script-shell"),
    ("rg", "--pre --hostname-bin"),
    ("rsync", "-e --rsh --rsync-path"),
    ("scp sftp", "-S -o"),
    ("sort", "--compress-program"),
    ("split", "--filter"),
    (
        "tar bsdtar gtar",
        "--to-command --checkpoint-action --use-compress-program -I -F --info-script --new-volume-script --rsh-command \
         --rmt-command",
    ),
    ("wget", "--use-askpass"),
    ("zip", "-TT --unzip-command"),
];
/// Options whose value is a command or code in many programs.
const USUAL: &str = "-c -e -x -eval --command --cmd --exec --execute --eval --run --call --shell";
/// Programs whose language runs commands: editors and pagers.
const EDITORS: &str = "vim vi nvim view ex ed emacs less more most zless zmore";
/// Names of the standard input.
const INPUT: &str = "- /dev/stdin /dev/fd/0 /proc/self/fd/0";

/// The code of a program.
pub(super) struct FoundCode {
    pub(super) words: Vec<String>,
    /// Whether there is code that is not in the script.
    pub(super) is_hidden: bool,
}

/// Finds the code in the arguments of a program, and in `fed`, the texts of the script that are its input.
pub(super) fn find_code(name: &str, words: &[ShellWord], fed: &[String], is_known: bool) -> FoundCode {
    let (mut code, mut is_hidden) = (Vec::new(), false);
    let options = COMMANDS.iter().find(|(names, _)| has(names, name));
    for command in options.into_iter().flat_map(|(_, options)| values_of(options, words)) {
        is_hidden |= command.starts_with(HOLE);
        // The program adds arguments of its own.
        code.extend(words_of(&command).into_iter().chain([HOLE.to_string()]));
    }
    let (is_editor, is_interpreter) = (has(EDITORS, name), runs_code(name));
    let is_code = |text: &str| match name {
        "sed" | "gsed" => sed_runs(text),
        "make" | "gmake" => text.contains('='),
        _ if is_editor => text.starts_with('+'),
        _ => is_interpreter && has_code(name, words),
    };
    let own = words[1..].iter().map(|word| word.value.clone());
    let mut texts: Vec<String> = own.filter(|text| is_code(text)).collect();
    if is_editor || !is_known && !is_interpreter {
        texts.extend(values_of(USUAL, words).filter(|text| is_editor || text.contains(char::is_whitespace)));
    }
    code.extend(texts.iter().flat_map(|text| words_of(text)));
    if is_editor || is_interpreter {
        is_hidden |= values_of("-c -e -r --eval --cmd", words).any(|text| text.starts_with(HOLE));
    }
    let reads = reads_code(name, words, !fed.is_empty());
    if reads || !is_known && !is_interpreter {
        is_hidden |= reads && fed.is_empty();
        code.extend(fed.iter().flat_map(|text| words_of(text)));
    }
    FoundCode { words: code, is_hidden }
}

/// Whether a program runs code, of a file or among its arguments.
pub(super) fn runs_code(name: &str) -> bool {
    has(
        "python python2 python3 pypy3 node deno bun perl ruby php lua Rscript osascript awk gawk mawk nawk",
        name,
    )
}

/// Whether the arguments of an interpreter have code. Behind `-m` are those of a module.
pub(super) fn has_code(name: &str, words: &[ShellWord]) -> bool {
    let mut own = words[1..]
        .iter()
        .map(|word| word.value.as_str())
        .take_while(|word| *word != "-m");
    name.ends_with("awk")
        || own.any(|word| is_option("-c -e -E -p -r --eval --print", word) || word == "eval" || word.contains(HOLE))
}

/// Whether a program takes its code from its input.
fn reads_code(name: &str, words: &[ShellWord], is_fed: bool) -> bool {
    let own = &words[1..];
    let names_input = own
        .iter()
        .enumerate()
        .any(|(at, word)| match word.value.strip_prefix("-f") {
            Some("") => own.get(at + 1).is_some_and(|file| has(INPUT, &file.value)),
            Some(file) => has(INPUT, file),
            None => word
                .value
                .split_once('=')
                .is_some_and(|(option, file)| option.starts_with("--") && has(INPUT, file)),
        });
    match name {
        "ed" | "ex" => true,
        "make" | "gmake" | "just" | "sed" | "gsed" | "awk" | "gawk" | "mawk" | "nawk" => names_input,
        _ if has(EDITORS, name) => own
            .iter()
            .any(|word| ["-s", "-es", "-e", "-Es"].contains(&word.value.as_str())),
        _ if runs_code(name) && !has_code(name, words) => {
            match own
                .iter()
                .find(|word| !word.value.starts_with('-') || word.value == "-")
            {
                Some(first) => has(INPUT, &first.value),
                None => is_fed || own.is_empty(),
            }
        }
        _ => false,
    }
}

/// The values of options, in the word of the option or in the one behind it.
fn values_of(options: &str, words: &[ShellWord]) -> impl Iterator<Item = String> {
    let value = move |(at, word): (usize, &ShellWord)| {
        let option = options
            .split_ascii_whitespace()
            .find(|option| is_option(option, &word.value))?;
        let sign = if option.len() == 2 { &option[1..] } else { "=" };
        let attached = word.value.split_once(sign).map_or("", |(_, value)| value);
        let behind = words.get(at + 1).map(|word| word.value.clone());
        if attached.is_empty() {
            behind
        } else {
            Some(attached.to_owned())
        }
    };
    words.iter().enumerate().skip(1).filter_map(value)
}

/// Whether a script of sed has the command `e`, or `s` with this flag.
fn sed_runs(script: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric();
    let mut ends = script
        .match_indices('e')
        .map(|(at, _)| (&script[..at], &script[at + 1..]));
    ends.any(|(before, behind)| {
        let flags = behind.trim_start_matches(|flag: char| flag.is_ascii_digit() || "gpiImMe".contains(flag));
        let address = before.trim_end_matches(|flag: char| flag.is_ascii_digit() || "gpiImM".contains(flag));
        let is_flag = address.ends_with(|sign: char| sign.is_ascii_punctuation() && sign != '\\')
            && (flags.is_empty() || flags.starts_with([';', '}', '\n', ' ']));
        let is_command = !before
            .trim_end_matches(|digit: char| digit.is_ascii_digit())
            .ends_with(is_part)
            && behind.starts_with([' ', ';', '}', '\n']);
        is_flag || is_command
    })
}

/// The words of code that may run a command: `system("git push")`, `["git", "push"]`.
pub(super) fn words_of(code: &str) -> Vec<String> {
    let is_apart = |character: char| !character.is_alphanumeric() && !"._-/:@".contains(character) && character != HOLE;
    let found = code.split(is_apart);
    found.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}
