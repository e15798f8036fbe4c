//! The fate of a repository and of the commits in it, and how to keep them or get them back.

use std::path::{Path, PathBuf};

use ralph_core::event::{HeadPlace, LossKind, LostRepository, StashEntry};
use ralph_text::{one_line, shell_word};

use super::counted;

/// The way in which a repository was lost, as a clause.
pub fn lost_repository_in_words(lost: &LostRepository) -> String {
    let directory = shown(lost, &lost.directory);
    match &lost.how {
        LossKind::Gone => format!("the repository is gone: {directory} does not exist any more"),
        LossKind::Replaced => {
            format!("the repository is gone: {directory} is not the one that the run began with")
        }
        LossKind::Unlinked => format!("`.git` does not lead to the repository any more, which is in {directory}"),
        LossKind::Emptied => {
            format!("the repository is broken: {directory} has none of the commits of the run any more")
        }
        LossKind::Unreadable { why } => format!("the repository is broken: {directory}: {why}"),
    }
}

/// The remains of a repository, and the command to type.
pub fn way_back_in_words(lost: &LostRepository) -> String {
    let directory = shown(lost, &lost.directory);
    let place = shell_word(&directory);
    match (&lost.how, &lost.moved_to) {
        (LossKind::Gone, Some(moved)) => format!(
            "it was moved; `mv {} {place}` brings it back, then `ralph continue`",
            shell_word(&shown(lost, moved))
        ),
        (_, Some(moved)) => format!(
            "it was moved; `mv {place} {place}.other && mv {} {place}` brings it back, then `ralph \
             continue`",
            shell_word(&shown(lost, moved))
        ),
        (LossKind::Unlinked, None) => format!(
            "`mv .git .git.other; echo {} > .git` leads to it again, then `ralph continue`",
            shell_word(&format!("gitdir: {}", lost.directory.display()))
        ),
        (LossKind::Emptied | LossKind::Unreadable { .. }, None) => format!(
            "copy {directory} before you try anything; `git init` writes missing files of it anew and overwrites none, \
             `git fsck` says what is left of its objects{}; {}",
            from_remote(lost),
            from_store(lost)
        ),
        (LossKind::Gone | LossKind::Replaced, None) => format!(
            "the files of the project are as the agent left them; {}; branches, stashes and the run's commits were in \
             {directory}: a backup of it brings them back{}",
            from_store(lost),
            from_remote(lost)
        ),
    }
}

/// How to get files and history from ralph's store.
fn from_store(lost: &LostRepository) -> String {
    let Some(store) = &lost.store else {
        return "ralph has no other copy".to_owned();
    };
    let store = shell_word(&store.display().to_string());
    let Some(history) = &lost.history else {
        return format!("`ralph restore N` brings back the files of a checkpoint, which are in {store}");
    };
    let branch = shell_word(lost.branch.as_deref().unwrap_or("main"));
    let history = shell_word(history);
    format!(
        "`ralph restore N` brings back the files of a checkpoint; `git init && git fetch {store} {history} && git symbolic-ref \
         HEAD refs/heads/{branch} && git reset FETCH_HEAD` brings back the history from before the run, and no file changes"
    )
}

/// How to begin a repository with what the remote has.
fn from_remote(lost: &LostRepository) -> String {
    let head = match &lost.head {
        Some(head) => format!(" (HEAD was at {})", short(head)),
        None => String::new(),
    };
    let branch = lost.branch.as_deref().unwrap_or("main");
    let Some(remote) = &lost.remote else {
        return format!("{head}; without one, `git init` begins a new history with the present files");
    };
    let (branch, remote) = (shell_word(branch), shell_word(remote));
    format!(
        "{head}; what was pushed comes back, and the files stay, with `git init && git remote add origin {remote} && git \
         fetch origin && git symbolic-ref HEAD refs/heads/{branch} && git reset origin/{branch}`"
    )
}

/// The place of HEAD, and how to keep the commits that are on no branch.
pub fn head_in_words(place: &HeadPlace) -> String {
    let mut text = match (&place.branch, &place.begun_on) {
        (Some(branch), Some(begun_on)) if branch == begun_on => format!("`{branch}` is checked out"),
        (Some(branch), Some(begun_on)) => {
            format!("`{branch}` is checked out; the run began on `{begun_on}`")
        }
        (Some(branch), None) => format!("`{branch}` is checked out; the run began with HEAD detached"),
        (None, Some(begun_on)) => format!("HEAD is detached; the run began on `{begun_on}`"),
        (None, None) => "HEAD is detached".to_owned(),
    };
    if let Some(operation) = place.operation.as_deref() {
        let ends = match operation {
            "bisection" => "`git bisect reset` ends it".to_owned(),
            operation => format!("`git {operation} --continue` or `git {operation} --abort` ends it"),
        };
        text += &format!("; a {operation} is not finished, {ends}");
    }
    let Some(tip) = &place.tip else {
        if place.branch.is_none() {
            text += "; commits made here are on no branch";
        }
        return text;
    };
    let count = counted(place.loose.len() as u64 + place.more, "commit");
    let named: Vec<&str> = place.loose.iter().map(|commit| &**commit).collect();
    let more = if place.more > 0 { ", …" } else { "" };
    let verb = if place.loose.len() as u64 + place.more == 1 {
        "is"
    } else {
        "are"
    };
    text += &format!(
        "; {count} {verb} on no branch, and git will delete what is on none: {}{more}; `git branch NAME {}` keeps {}",
        named.join(", "),
        short(tip),
        if verb == "is" { "it" } else { "them" }
    );
    text
}

/// The lock files that a session left, removed and kept.
pub fn locks_in_words(removed: &[PathBuf], kept: &[PathBuf]) -> String {
    let listed = |paths: &[PathBuf], separator: &str| {
        let paths = paths.iter().map(|path| shell_word(&path.display().to_string()));
        paths.collect::<Vec<_>>().join(separator)
    };
    let of_session = (!removed.is_empty()).then(|| {
        let count = counted(removed.len() as u64, "lock file");
        format!(
            "removed {count} of git that the session left: {}",
            listed(removed, ", ")
        )
    });
    let of_others = (!kept.is_empty()).then(|| {
        format!(
            "git is locked by {}, which the session may have left: if no git runs there, `rm {}`",
            listed(kept, ", "),
            listed(kept, " ")
        )
    });
    of_session.into_iter().chain(of_others).collect::<Vec<_>>().join("; ")
}

/// Stashes that appeared or went.
pub fn stashes_in_words(made: &[StashEntry], gone: &[StashEntry], shared: bool) -> String {
    let named = |stashes: &[StashEntry]| {
        let stashes = stashes
            .iter()
            .map(|stash| format!("{} ({})", short(&stash.commit), one_line(&stash.message)));
        stashes.collect::<Vec<_>>().join(", ")
    };
    let mut parts = Vec::new();
    if !made.is_empty() {
        let count = counted_stashes(made.len());
        parts.push(format!(
            "{count} made during the iteration and not taken back: {}",
            named(made)
        ));
    }
    if !gone.is_empty() {
        let first = gone.first().map_or("", |stash| short(&stash.commit));
        parts.push(format!(
            "{} dropped during the iteration: {}; `git stash store {first}` brings it back",
            counted_stashes(gone.len()),
            named(gone)
        ));
    }
    if shared {
        let whose = match parts.is_empty() {
            true => {
                "a stash was made or taken during the iteration; all work trees of the repository share their stashes, so \
                 the changes of another plan may be in this tree: compare `git diff` and `git log` with the task"
            }
            false => "all work trees of the repository share their stashes, so it may be another plan's",
        };
        parts.push(whose.to_owned());
    }
    parts.join("; ")
}

/// A stash that is still there at the end of a run.
pub fn stash_left_in_words(stash: &StashEntry) -> String {
    let commit = short(&stash.commit);
    format!(
        "a stash of the run is left: {}; `git stash show -p {commit}` shows it, `git stash apply {commit}` takes it back",
        one_line(&stash.message)
    )
}

fn counted_stashes(count: usize) -> String {
    match count {
        1 => "1 stash was".to_owned(),
        count => format!("{count} stashes were"),
    }
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// A path as the user types it in the work tree.
fn shown(lost: &LostRepository, path: &Path) -> String {
    let below = path.strip_prefix(&lost.root).unwrap_or(path);
    below.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(how: LossKind) -> LostRepository {
        LostRepository {
            root: "/p".into(),
            directory: "/p/.git".into(),
            how,
            moved_to: None,
            branch: Some("work".into()),
            head: Some("0123456789abcdef".into()),
            remote: None,
            store: None,
            history: None,
        }
    }

    #[test]
    fn a_repository_that_was_moved_is_moved_back() {
        let moved = |how| {
            let moved_to = Some("/p/old git".into());
            way_back_in_words(&LostRepository { moved_to, ..lost(how) })
        };
        assert!(moved(LossKind::Gone).contains("`mv 'old git' .git`"));
        assert!(moved(LossKind::Replaced).contains("`mv .git .git.other && mv 'old git' .git`"));
    }

    #[test]
    fn only_what_is_left_is_promised() {
        let gone = way_back_in_words(&lost(LossKind::Gone));
        assert!(
            gone.contains("ralph has no other copy") && gone.contains("HEAD was at 0123456789ab"),
            "{gone}"
        );
        let stored = LostRepository {
            store: Some("/s/store.git".into()),
            ..lost(LossKind::Gone)
        };
        let text = way_back_in_words(&stored);
        assert!(
            text.contains("`ralph restore N`") && !text.contains("git fetch"),
            "{text}"
        );
        let history = Some("refs/ralph/run/heads/0123".into());
        let text = way_back_in_words(&LostRepository { history, ..stored });
        assert!(
            text.contains("git fetch /s/store.git refs/ralph/run/heads/0123"),
            "{text}"
        );
        let remote = Some("https://host/a.git".into());
        let pushed = way_back_in_words(&LostRepository {
            remote,
            ..lost(LossKind::Gone)
        });
        assert!(
            pushed.contains("git remote add origin 'https://host/a.git'"),
            "{pushed}"
        );
        assert!(pushed.contains("git reset origin/work"), "{pushed}");
        let why = "not a git repository".into();
        let broken = way_back_in_words(&lost(LossKind::Unreadable { why }));
        assert!(broken.contains("copy .git before you try anything"), "{broken}");
    }
}
