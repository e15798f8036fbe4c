//! The output of a command, as far as other commands take it for names of files.

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

/// Options with which a program that lists files does not leave hidden ones out.
const HIDDEN: &str = "-a -A -f -H -u -. --all --almost-all --hidden --unrestricted";
/// Behind `BELOW`: hidden names are left out.
const VISIBLE: &str = "\u{1}";

/// The words that a command prints.
pub(super) enum Printed {
    /// Words of the script, or of its input.
    Words,
    /// Names of files in these places.
    Names(Vec<String>),
    /// Text that the script does not determine, such as the content of a file.
    Text,
}

/// The output of a command.
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
    let list = |shows_hidden: bool| {
        let end = if shows_hidden { "" } else { VISIBLE };
        let places = operands().chain([".".to_owned()]);
        Printed::Names(places.map(|place| format!("{place}/{BELOW}{end}")).collect())
    };
    match name {
        "find" => Printed::Names(found(words)),
        "ls" if !has_option("-R --recursive") && !has_option(HIDDEN) => Printed::Names(vec![GLOB.to_string()]),
        "ls" | "tree" | "fd" | "fdfind" => list(has_option(HIDDEN)),
        "rg" | "ag" | "ack" if has_option(NAMES_ONLY) => list(has_option(HIDDEN)),
        _ if program.searches() && has_option(NAMES_ONLY) => list(true),
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
    let names = names(&values[end..]).unwrap_or_else(|| vec![String::new()]);
    let below = |place: &String| {
        names
            .iter()
            .map(|name| format!("{place}/{BELOW}/{name}"))
            .collect::<Vec<_>>()
    };
    places.iter().flat_map(below).collect()
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
