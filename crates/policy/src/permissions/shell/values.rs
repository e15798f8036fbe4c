//! The values that the words of a script may have, as far as the script itself says.

use std::collections::BTreeMap;

use super::{
    output::{Printed, printed},
    script::{CommandOutput, ParsedScript, Redirect, SimpleCommand},
    words::{GLOB, HOLE, ShellWord},
};

/// Most words of a script that are tried for a computed one.
const MOST_VALUES: usize = 200;
/// Most paths of a part that are looked at.
const MOST_PATHS: usize = 1000;
/// Most directories that a script enters.
const MOST_DIRECTORIES: usize = 16;
/// The origin of a variable's or word's value, from the best known to the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ValueSource {
    /// A word of the script.
    Word,
    /// The output of commands in the script.
    Output,
    Unknown,
}

/// The words that a script computes with, and the directories that it enters.
#[derive(Default)]
pub(super) struct ScriptValues {
    /// The directories that the script enters, besides the first one.
    directories: Vec<String>,
    /// The known words of the script.
    known: Vec<String>,
    variables: BTreeMap<String, ValueSource>,
    /// The places of the names that programs of the script print.
    listed: Vec<String>,
    /// Whether output that is taken for names may be anything, such as the content of a file.
    is_any_name: bool,
    repeats: bool,
}

/// Whether the input of the commands of a statement that take names is text of the script or printed by its programs.
fn has_known_input(commands: &[&SimpleCommand]) -> bool {
    let reads_file = |file: &Redirect| matches!(file, Redirect::Read(_));
    let is_file = |word: &ShellWord| word.value.starts_with("-a") || word.value.starts_with("--arg");
    let mut files = commands.iter().filter(|simple| {
        simple.redirects.iter().any(reads_file) || simple.takes_names() && simple.words.iter().any(is_file)
    });
    let mut printers = commands
        .iter()
        .filter(|simple| simple.is_fed || simple.output != CommandOutput::Shown);
    files.next().is_none() && printers.next().is_some()
}

impl ScriptValues {
    /// Adds the words of a script, which its computed words may consist of.
    pub(super) fn add(&mut self, script: &ParsedScript) {
        self.repeats |= script.repeats;
        let commands = script.commands.iter();
        let assignments = commands.clone().flat_map(|simple| &simple.assignments);
        for assignment in assignments.clone() {
            self.set(assignment.assigned(), self.source(assignment));
        }
        let listed = script.listed.iter().map(|word| self.source(word)).max();
        for name in &script.assigned {
            self.set(Some(name), listed.unwrap_or(ValueSource::Unknown));
        }
        let mut takers: BTreeMap<usize, Vec<&SimpleCommand>> = BTreeMap::new();
        for simple in commands.clone() {
            takers.entry(simple.statement).or_default().push(simple);
        }
        takers.retain(|_, commands| commands.iter().any(|simple| simple.takes_names()));
        self.is_any_name |= takers.values().any(|commands| !has_known_input(commands));
        for simple in commands.clone() {
            let is_taken = match simple.output {
                CommandOutput::Shown => false,
                CommandOutput::Piped => takers.contains_key(&simple.statement),
                CommandOutput::Substituted => true,
            };
            let mut redirects = simple.redirects.iter();
            self.is_any_name |= is_taken && redirects.any(|file| matches!(file, Redirect::Read(_)));
            match printed(&simple.words) {
                Printed::Words => {}
                Printed::Names(names) => self.listed.extend(names),
                Printed::Text => self.is_any_name |= is_taken,
            }
            let program = simple.words.first().map_or("", |word| word.value.as_str());
            for name in simple.words.iter().skip(1).filter(|_| program == "read") {
                self.set(Some(&name.value), ValueSource::Output);
            }
        }
        let assigned = assignments.filter_map(|word| Some(word.value.split_once('=')?.1.to_owned()));
        let words = commands.flat_map(|simple| &simple.words).chain(&script.listed);
        let values: Vec<String> = assigned
            .chain(words.map(ShellWord::path))
            .chain(script.fed.iter().cloned())
            .collect();
        let values = values.iter().flat_map(|value| value.split_ascii_whitespace());
        let known = values.filter(|value| !value.contains([HOLE, '$', '`']));
        // The quoted patterns of `find` stand for names as well.
        let known = known.map(|value| value.replace(['*', '?'], &GLOB.to_string()));
        self.known.extend(known.take(MOST_VALUES + 1));
    }

    fn set(&mut self, name: Option<&str>, source: ValueSource) {
        if let Some(name) = name {
            let known = self.variables.entry(name.to_owned()).or_insert(source);
            *known = source.max(*known);
        }
    }

    fn source(&self, word: &ShellWord) -> ValueSource {
        match word.variable() {
            _ if !word.path().contains(HOLE) => ValueSource::Word,
            Some(variable) => self.variables.get(variable).copied().unwrap_or(ValueSource::Unknown),
            None if word.is_output() => ValueSource::Output,
            None => ValueSource::Unknown,
        }
    }

    /// The paths for which a word may stand.
    ///
    /// A variable that the script sets, and the output of commands that pass names on, are words of the script.
    pub(super) fn paths(&self, word: &ShellWord) -> Vec<String> {
        let path = word.path();
        let source = self.source(word);
        let is_known = match source {
            ValueSource::Word => true,
            ValueSource::Output => !self.is_any_name,
            ValueSource::Unknown => false,
        };
        let listed: &[String] = match source {
            ValueSource::Output => &self.listed,
            ValueSource::Word | ValueSource::Unknown => &[],
        };
        match path.split_once(HOLE) {
            Some((before, behind)) if is_known && self.known.len() + listed.len() <= MOST_VALUES => {
                let values = self.known.iter().chain(listed);
                values.map(|value| format!("{before}{value}{behind}")).collect()
            }
            Some(_) | None => vec![path],
        }
    }

    /// Adds a directory that the script enters. Returns its path as far as it is written.
    pub(super) fn enter(&mut self, words: &[ShellWord]) -> Vec<String> {
        let operand = words[1..]
            .iter()
            .find(|word| !word.value.starts_with('-') || word.value == "-");
        let targets = match operand {
            Some(word) if word.value != "-" => self.paths(word),
            // The directory before the last one.
            Some(_) => vec![HOLE.to_string()],
            None => vec!["~".to_owned()],
        };
        let mut entered = Vec::new();
        for target in &targets {
            let is_relative = !target.starts_with(['/', '~', HOLE]);
            match is_relative {
                _ if self.directories.len() + entered.len() > MOST_DIRECTORIES => {}
                true if self.repeats => entered.push(HOLE.to_string()),
                true => {
                    entered.push(target.clone());
                    let nested = self.directories.iter().map(|directory| format!("{directory}/{target}"));
                    entered.extend(nested);
                }
                false => entered.push(target.clone()),
            }
        }
        self.directories.extend(entered);
        if self.directories.len() > MOST_DIRECTORIES {
            self.directories = vec![HOLE.to_string()];
        }
        operand.map_or_else(|| vec!["~".to_owned()], |word| vec![word.path()])
    }

    /// The places of paths in any of the directories that the script enters. A computed name is taken for a name below its
    /// directory, unless the script climbs.
    pub(super) fn places(&self, paths: &[String], climbs: bool) -> Vec<String> {
        if paths.len() * (self.directories.len() + 1) > MOST_PATHS {
            return vec![HOLE.to_string()];
        }
        let mut places = Vec::new();
        for path in paths {
            match path {
                _ if climbs && path.contains(HOLE) => places.push(HOLE.to_string()),
                _ if path.starts_with(['/', '~', HOLE]) => places.push(path.clone()),
                _ => {
                    places.push(path.clone());
                    places.extend(self.directories.iter().map(|directory| format!("{directory}/{path}")));
                }
            }
        }
        places
    }
}
