//! The command line of git: its global options, its settings, and the subcommands that run other programs.

use super::{programs::has, words::ShellWord};

/// A git command without its global options.
pub(super) struct GitCommand<'w> {
    /// The words from the subcommand on.
    pub(super) rest: &'w [ShellWord],
    /// Whether an option moves it to another repository.
    pub(super) is_elsewhere: bool,
    /// Whether it may run other programs.
    pub(super) runs_others: bool,
}

/// Reads a git command. `words[0]` is git itself.
pub(super) fn read(words: &[ShellWord]) -> GitCommand<'_> {
    let (mut at, mut is_elsewhere, mut is_unclear) = (1, false, false);
    while let Some(word) = words.get(at).filter(|word| word.value.starts_with('-')) {
        at += match word.value.as_str() {
            "-P"
            | "-p"
            | "--no-pager"
            | "--paginate"
            | "--no-replace-objects"
            | "--no-optional-locks"
            | "--literal-pathspecs"
            | "--no-advice"
            | "--bare" => 1,
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => {
                is_elsewhere = true;
                2
            }
            "-c" => {
                is_unclear |= !words
                    .get(at + 1)
                    .is_some_and(|setting| is_harmless_setting(&setting.value));
                2
            }
            other => {
                let (name, _) = other.split_once('=').unwrap_or((other, ""));
                is_elsewhere |= has("--git-dir --work-tree --namespace", name);
                is_unclear |= !has("--git-dir --work-tree --namespace --version --help", name);
                1
            }
        };
    }
    let rest = &words[at.min(words.len())..];
    let values: Vec<&str> = rest.iter().map(|word| word.value.as_str()).collect();
    GitCommand {
        rest,
        is_elsewhere,
        runs_others: is_unclear || runs_others(&values),
    }
}

/// Whether a setting of git cannot affect which programs run.
fn is_harmless_setting(setting: &str) -> bool {
    let (key, _) = setting.split_once('=').unwrap_or((setting, ""));
    let key = key.to_ascii_lowercase();
    let keys =
        "user.name user.email core.quotepath core.autocrlf commit.gpgsign init.defaultbranch pull.rebase push.default";
    has(keys, &key) || key.starts_with("color.") || key.starts_with("advice.")
}

/// Whether a git command changes which programs other commands run, or itself runs one.
fn runs_others(values: &[&str]) -> bool {
    match values {
        ["config", rest @ ..] => !is_harmless_config(rest),
        [
            "filter-branch" | "difftool" | "mergetool" | "daemon" | "web--browse" | "credential" | "for-each-repo"
            | "send-email",
            ..,
        ] => true,
        ["submodule", "foreach", ..] => true,
        ["clone", rest @ ..] if rest.iter().any(|word| starts_with_any(word, "-u -c --c")) => true,
        ["rebase", rest @ ..] => rest
            .iter()
            .any(|word| word.starts_with("-x") || word.starts_with("--e")),
        [_, rest @ ..] => {
            let starts = "--upload-p --receive-p --exec --open-f -O --ext-diff ext::";
            rest.iter().any(|word| starts_with_any(word, starts))
        }
        [] => false,
    }
}

/// Whether `git config` only reads or removes, or changes a harmless setting. An unknown option may have a value, so that
/// the words behind it have no known place.
fn is_harmless_config(rest: &[&str]) -> bool {
    const VALUED: &str = "-f --file --blob --type -t --default --value --url";
    const READING: &str = "--get --get-all --get-regexp --get-urlmatch --list -l --unset --unset-all --get-color";
    const FLAGS: &str = "--global --system --local --worktree --null -z --name-only --show-origin --show-scope --includes \
        --no-includes --all --regexp --bool --int --path --add --replace-all";
    let (mut operands, mut reads) = (Vec::new(), false);
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(*word, |(name, _)| name);
        match *word {
            // A setting and its value have no options behind them.
            _ if operands.len() > 1 || !word.starts_with('-') => operands.push(*word),
            _ if has(VALUED, word) => _ = words.next(),
            _ if has(VALUED, name) || has(FLAGS, word) => {}
            _ if has(READING, word) && operands.is_empty() => reads = true,
            _ => return false,
        }
    }
    match operands[..] {
        _ if reads => true,
        ["get" | "list" | "unset", ..] | [] | [_] => true,
        ["set", setting, ..] | [setting, ..] => is_harmless_setting(setting),
    }
}

/// Whether a subcommand only reads the repository.
pub(super) fn only_reads(command: &GitCommand<'_>) -> bool {
    let values: Vec<&str> = command.rest.iter().map(|word| word.value.as_str()).collect();
    let Some((subcommand, rest)) = values.split_first() else {
        return false;
    };
    let are_options = |known| rest.iter().all(|word| has(known, word));
    let reads = match *subcommand {
        "status" | "log" | "diff" | "show" | "rev-parse" | "ls-files" | "blame" | "describe" | "shortlog"
        | "rev-list" | "merge-base" | "cat-file" | "ls-tree" | "name-rev" | "grep" => true,
        "config" => rest.first() == Some(&"--get"),
        "reflog" => rest.is_empty() || rest.starts_with(&["show"]),
        "branch" => are_options("-a -r -v -vv --all --list --show-current --remotes"),
        "remote" => are_options("-v --verbose"),
        "stash" | "worktree" => rest == ["list"],
        "tag" => are_options("-l --list"),
        _ => false,
    };
    let odd = "--output --no-index --ext-diff --textconv -O --filters -f --file --ou --no-in --ext --textc";
    let is_odd = |word: &ShellWord| word.is_computed() || starts_with_any(&word.value, odd);
    reads && !command.is_elsewhere && !command.runs_others && !command.rest.iter().any(is_odd)
}

/// Whether a word begins with one of a list.
fn starts_with_any(word: &str, list: &str) -> bool {
    list.split(' ').any(|start| word.starts_with(start))
}
