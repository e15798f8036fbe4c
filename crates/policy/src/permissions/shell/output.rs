//! What a command prints, as far as other commands take it for names of files.

use super::{
    git,
    options::find_wrapper,
    programs::{find_program, has, is_option},
    words::{BELOW, GLOB, HOLE, ShellWord},
};

/// Programs that make words of others, so that they print names which are not in the script.
const TRANSFORMING: &str =
    "base64 base32 rev tr sed gsed awk gawk mawk nawk printf xxd od cut perl ruby openssl gpg jq curl wget";
/// Options with which a program that searches files prints their names instead of their lines.
const NAMES_ONLY: &str = "-l -L --files --files-with-matches --files-without-match --name-only --name-status";

/// The words that a command prints.
pub(super) enum Printed {
    /// Words of the script, or of its input.
    Words,
    /// Names of files in these places.
    Names(Vec<String>),
    /// Text that the script does not determine, such as the content of a file.
    Text,
}

/// What a command prints.
pub(super) fn printed(mut words: &[ShellWord]) -> Printed {
    let mut has_input = false;
    let name = loop {
        let Some(first) = words.first() else {
            return Printed::Words;
        };
        let name = first.value.rsplit('/').next().unwrap_or_default();
        let Some(wrapper) = find_wrapper(name) else { break name };
        has_input |= name == "xargs";
        words = match wrapper.command(words) {
            Ok(at) if at < words.len() => &words[at..],
            _ if ["xargs", "command"].contains(&name) => return Printed::Words,
            Ok(_) | Err(_) => return Printed::Text,
        };
    };
    let Some(program) = find_program(name).filter(|_| !has(TRANSFORMING, name)) else {
        return Printed::Text;
    };
    let has_option = |options: &str| words.iter().any(|word| is_option(options, &word.value));
    let files = program.files(words);
    let operands = || files.iter().map(|(_, file)| file.path());
    let here = || std::iter::once(".".to_owned());
    match name {
        "find" => Printed::Names(found(words)),
        "fd" | "fdfind" if has_option("-H -u --hidden --unrestricted") => {
            Printed::Names(below(operands().chain(here())))
        }
        "fd" | "fdfind" => Printed::Names(below_visible(operands().chain(here()))),
        "tree" if has_option("-a --all") => Printed::Names(below(operands().chain(here()))),
        "tree" => Printed::Names(below_visible(operands().chain(here()))),
        "ls" if has_option("-a -A -f --all --almost-all") => Printed::Names(below(here())),
        "ls" if has_option("-R --recursive") => Printed::Names(below_visible(operands().chain(here()))),
        "ls" => Printed::Names(vec![GLOB.to_string()]),
        "rg" | "ag" | "ack" if has_option(NAMES_ONLY) && !has_option("-. --hidden -u --unrestricted") => {
            Printed::Names(below_visible(operands().chain(here())))
        }
        _ if program.searches() && has_option(NAMES_ONLY) => Printed::Names(below(operands())),
        "git" => match git::read(words).rest.first().map(|word| word.value.as_str()) {
            Some("show" | "cat-file" | "blame" | "grep" | "config" | "log" | "diff") if !has_option(NAMES_ONLY) => {
                Printed::Text
            }
            Some(_) | None => Printed::Words,
        },
        _ if program.reads_content() && (has_input || operands().any(|path| path != "-")) => Printed::Text,
        _ => Printed::Words,
    }
}

fn below(places: impl Iterator<Item = String>) -> Vec<String> {
    places.map(|place| format!("{place}/{BELOW}")).collect()
}

fn below_visible(places: impl Iterator<Item = String>) -> Vec<String> {
    places.map(|place| format!("{place}/{BELOW}{GLOB}")).collect()
}

/// The names that `find` prints: those below the places before its expression, which `-name` may narrow.
fn found(words: &[ShellWord]) -> Vec<String> {
    let values: Vec<&str> = words.iter().map(|word| word.value.as_str()).collect();
    let mut from = 1;
    while let Some(option) = values
        .get(from)
        .filter(|value| ["-H", "-L", "-P", "-D"].contains(value))
    {
        from += if *option == "-D" { 2 } else { 1 };
    }
    let is_place = |value: &&&str| !value.starts_with(['-', '(', '!']);
    let end = from + values.iter().skip(from).take_while(is_place).count();
    let mut places: Vec<String> = words[from.min(end)..end].iter().map(ShellWord::path).collect();
    if places.is_empty() {
        places.push(".".to_owned());
    }
    let names = names(&values[end..]).unwrap_or_default();
    let all = below(places.into_iter());
    match names[..] {
        [] => all,
        _ => all
            .iter()
            .flat_map(|place| names.iter().map(move |name| format!("{place}/{name}")))
            .collect(),
    }
}

/// The names that an expression of `find` is limited to, if each of its alternatives has one.
fn names(expression: &[&str]) -> Option<Vec<String>> {
    let is_negated = |pair: &[&str]| ["!", "-not"].contains(&pair[0]) && pair[1] == "(";
    if expression.windows(2).any(is_negated) {
        return None;
    }
    let mut names = Vec::new();
    for alternative in expression.split(|word| ["-o", "-or", ","].contains(word)) {
        let at = alternative
            .iter()
            .enumerate()
            .position(|(at, word)| *word == "-name" && !(at > 0 && ["!", "-not"].contains(&alternative[at - 1])))?;
        let name = alternative
            .get(at + 1)
            .filter(|name| !name.contains(['[', '\\', HOLE]))?;
        names.push(name.replace(['*', '?'], &GLOB.to_string()));
    }
    Some(names)
}
