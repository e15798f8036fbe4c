//! Commits as files, for a machine that shares no repository with this one.
//!
//! A bundle is data of another machine: git checks every object (`--strict`), the reader of a bundle names the one
//! reference that it goes to, and no hook runs.

use std::{
    fs::{self, File},
    io::{BufRead, BufReader, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use ralph_system::{files, proc::Supervisor};

use super::{
    GitError, NoRepository,
    process::Git,
    work_trees::{Branches, DEADLINE, full},
};

/// Prefix of the references for commits of other machines.
const NODE_REFERENCES: &str = "refs/ralph/nodes/";
/// Most bytes of a bundle before its pack: its references and the commits that it builds on.
const HEADER_CAP_BYTES: u64 = 64 << 20;
/// Most bytes of git's files about a merge.
const MERGE_CAP_BYTES: u64 = 64 << 10;
/// Most commits that a repository names as known.
const KNOWN: &str = "--count=64";

/// A merge in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenMerge {
    /// The commit that is merged.
    pub commit: String,
    pub message: String,
}

/// The name and email of a committer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Committer {
    pub name: String,
    pub email: String,
}

/// Makes an empty repository at `directory`, unless there is one.
///
/// # Errors
/// [`NoRepository`] if it cannot be made.
pub fn make_repository(directory: &Path, supervisor: &Supervisor) -> Result<Branches, NoRepository> {
    let file = |source| {
        NoRepository::Unreadable(GitError::File {
            path: directory.to_owned(),
            source,
        })
    };
    fs::create_dir_all(directory).map_err(file)?;
    if !directory.join(".git").exists() {
        let init = ["init", "--quiet", "."];
        let made = Git::at(supervisor, directory).args(init).run();
        made.map_err(NoRepository::Unreadable)?;
    }
    Branches::find(directory, supervisor)
}

/// Returns the committer of a repository; `None` if none is configured.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn committer(branches: &Branches) -> Result<Option<Committer>, GitError> {
    let value = |key: &str| -> Result<Option<String>, GitError> {
        let output = branches.git().args(["config", "--get", key]).run_any()?;
        Ok(output.line().ok().filter(|_| output.success()))
    };
    let (name, email) = (value("user.name")?, value("user.email")?);
    Ok(name.zip(email).map(|(name, email)| Committer { name, email }))
}

/// Makes `committer` the committer of a repository that has none.
///
/// # Errors
/// [`GitError`] if git refuses.
pub fn set_committer(branches: &Branches, own: &Committer) -> Result<(), GitError> {
    if committer(branches)?.is_some() {
        return Ok(());
    }
    for (key, value) in [("user.name", &own.name), ("user.email", &own.email)] {
        branches.git().args(["config", key, value]).run()?;
    }
    Ok(())
}

/// Returns the commits at the tips of a repository's latest references.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn known_commits(branches: &Branches) -> Result<Vec<String>, GitError> {
    let list = ["for-each-ref", "--sort=-creatordate", "--format=%(objectname)", KNOWN];
    let output = branches.git().args(list).run()?;
    let mut commits: Vec<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(str::to_owned)
        .collect();
    commits.sort();
    commits.dedup();
    Ok(commits)
}

/// Writes a file with the commits of the branches `names` that are not in `known`. Returns false, without a file, if there
/// are none.
///
/// # Errors
/// [`GitError`] if git refuses.
pub fn write_bundle(branches: &Branches, file: &Path, names: &[&str], known: &[String]) -> Result<bool, GitError> {
    let mut excluded = Vec::new();
    for commit in known.iter().filter(|commit| is_commit_name(commit)) {
        if branches.commit_of(commit)?.is_some() {
            excluded.push(format!("^{commit}"));
        }
    }
    let references: Vec<String> = names.iter().map(|name| full(name)).collect();
    let count = branches
        .git()
        .args(["rev-list", "--count", "--max-count=1"])
        .args(&references)
        .args(&excluded)
        .run()?;
    if count.line()? == "0" {
        return Ok(false);
    }
    let git = branches.git().deadline(DEADLINE).args(["bundle", "create", "--quiet"]);
    git.args([file]).args(&references).args(&excluded).run()?;
    Ok(true)
}

/// Reads the branch `name` of a bundle into the reference of `plan` for commits of other machines. Returns its commit.
///
/// # Errors
/// [`GitError`] if the file is no complete bundle, an object in it is malformed, or a commit that it builds on is
/// missing.
pub fn read_bundle(branches: &Branches, file: &Path, name: &str, plan: &str) -> Result<String, GitError> {
    let reference = node_reference(plan);
    let git = || branches.git().deadline(DEADLINE);
    let heads = git().args(["bundle", "list-heads"]).args([file]).args([full(name)]);
    let head = heads.run()?.line()?;
    let commit = head.split(' ').next().unwrap_or_default();
    // `git fetch` checks the objects of a bundle since version 2.46.
    let index = git().args(["index-pack", "--strict", "--fix-thin", "--stdin"]);
    index.input_file(open_pack(file)?).run()?;
    let commit = branches.commit_of(commit)?.ok_or_else(|| GitError::Gone {
        path: PathBuf::from(&reference),
    })?;
    git().args(["update-ref", &reference, &commit]).run()?;
    Ok(commit)
}

/// Opens a bundle at its pack, which follows the first empty line.
fn open_pack(bundle: &Path) -> Result<File, GitError> {
    let failed = |source| GitError::File {
        path: bundle.to_path_buf(),
        source,
    };
    let mut file = File::open(bundle).map_err(failed)?;
    let mut header = BufReader::new(&file).take(HEADER_CAP_BYTES);
    let mut length = 0;
    loop {
        let mut line = Vec::new();
        let bytes = header.read_until(b'\n', &mut line).map_err(failed)?;
        length += bytes as u64;
        // At the end of the file, git says that there is no pack.
        if bytes <= 1 {
            break;
        }
    }
    file.seek(SeekFrom::Start(length)).map_err(failed)?;
    Ok(file)
}

/// Returns the reference of `plan` for commits of other machines.
pub fn node_reference(plan: &str) -> String {
    format!("{NODE_REFERENCES}{plan}")
}

/// Deletes the reference of [`node_reference`].
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn forget_node(branches: &Branches, plan: &str) -> Result<(), GitError> {
    let delete = ["update-ref", "-d", &node_reference(plan)];
    branches.git().args(delete).run_any().map(drop)
}

/// Moves the branch of a work tree of ralph's own to `commit`, with all its files: uncommitted changes, untracked files
/// and a merge in progress are dropped. Ignored files stay.
///
/// # Errors
/// [`GitError`] if git refuses.
pub fn put_branch(branches: &Branches, tree: &Path, branch: &str, commit: &str) -> Result<(), GitError> {
    branches.unlock_tree(tree)?;
    let git = || branches.at(tree).deadline(DEADLINE);
    git()
        .args(["checkout", "--quiet", "--force", "-B", branch, commit, "--"])
        .run()?;
    git().args(["clean", "-ffdq"]).run().map(drop)
}

/// Moves a branch that is not checked out to `commit`.
///
/// # Errors
/// [`GitError`] if git refuses.
pub fn place_branch(branches: &Branches, branch: &str, commit: &str) -> Result<(), GitError> {
    branches
        .git()
        .args(["update-ref", &full(branch), commit])
        .run()
        .map(drop)
}

/// Returns the merge in progress in a work tree.
///
/// # Errors
/// [`GitError`] if git cannot be asked, or if the merge cannot be read.
pub fn open_merge(branches: &Branches, tree: &Path) -> Result<Option<OpenMerge>, GitError> {
    if !branches.is_merging(tree)? {
        return Ok(None);
    }
    let admin = branches.admin_of(tree)?;
    let read = |name: &str| {
        let path = admin.join(name);
        files::read_text(&path, MERGE_CAP_BYTES).map_err(|_| GitError::Gone { path })
    };
    // git lists the conflicts as comments in the message.
    let message = read("MERGE_MSG")?;
    let message: Vec<&str> = message.lines().filter(|line| !line.starts_with('#')).collect();
    Ok(Some(OpenMerge {
        commit: read("MERGE_HEAD")?.trim().to_owned(),
        message: message.join("\n").trim().to_owned(),
    }))
}

/// Whether the text is the full name of an object, and no option or revision.
pub fn is_commit_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(directory: &Path) -> Branches {
        let supervisor = Supervisor::default();
        let branches = make_repository(directory, &supervisor).unwrap();
        let committer = Committer {
            name: "Somebody".to_owned(),
            email: "somebody@example.invalid".to_owned(),
        };
        set_committer(&branches, &committer).unwrap();
        branches
    }

    fn commit(branches: &Branches, file: &str, text: &str) -> String {
        fs::write(branches.root().join(file), text).unwrap();
        branches.commit_all(branches.root(), file).unwrap();
        branches.commit_of("HEAD").unwrap().unwrap()
    }

    #[test]
    fn commits_travel_there_and_back_and_only_what_is_new() {
        let directory = tempfile::tempdir().unwrap();
        let here = repository(&directory.path().join("here"));
        let there = repository(&directory.path().join("there"));
        let file = directory.path().join("file");
        let first = commit(&here, "one", "1");
        here.create("ralph/b/p", &first).unwrap();
        assert!(write_bundle(&here, &file, &["ralph/b/p"], &[]).unwrap());
        assert_eq!(read_bundle(&there, &file, "ralph/b/p", "b/p").unwrap(), first);
        let known = known_commits(&there).unwrap();
        assert_eq!(known, std::slice::from_ref(&first));
        assert!(
            !write_bundle(&here, &file, &["ralph/b/p"], &known).unwrap(),
            "nothing is new"
        );

        let tree = directory.path().join("tree");
        place_branch(&there, "ralph/b/p", &first).unwrap();
        there.add_branch(&tree, "ralph/b/p", &first).unwrap();
        fs::write(tree.join("two"), "2").unwrap();
        there.commit_all(&tree, "two").unwrap();
        assert!(write_bundle(&there, &file, &["ralph/b/p"], std::slice::from_ref(&first)).unwrap());
        let back = read_bundle(&here, &file, "ralph/b/p", "b/p").unwrap();
        assert!(here.is_ancestor(&first, &back).unwrap() && back != first);
        assert_eq!(here.commit_of(&node_reference("b/p")).unwrap(), Some(back));
        assert_eq!(here.tip("ralph/b/p").unwrap(), Some(first), "no branch is moved");

        let elsewhere = repository(&directory.path().join("elsewhere"));
        let read = read_bundle(&elsewhere, &file, "ralph/b/p", "b/p");
        assert!(read.is_err(), "the commit that it builds on is missing: {read:?}");
        assert_eq!(elsewhere.commit_of(&node_reference("b/p")).unwrap(), None);
    }

    #[test]
    fn a_bundle_that_is_cut_off_or_malformed_changes_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let here = repository(&directory.path().join("here"));
        let there = repository(&directory.path().join("there"));
        let file = directory.path().join("file");
        let first = commit(&here, "one", &"line\n".repeat(1000));
        here.create("ralph/b/p", &first).unwrap();
        write_bundle(&here, &file, &["ralph/b/p"], &[]).unwrap();
        let whole = fs::read(&file).unwrap();
        for length in [0, 10, whole.len() / 2, whole.len() - 1] {
            fs::write(&file, &whole[..length]).unwrap();
            assert!(read_bundle(&there, &file, "ralph/b/p", "b/p").is_err(), "{length}");
        }
        // A tree with a name that leads out of it, which git accepts unless it is told to check.
        let blob = here.commit_of("HEAD:one");
        assert!(blob.is_err() || blob.unwrap().is_none(), "a blob is no commit");
        let git = || here.git();
        let blob = git().args(["rev-parse", "HEAD:one"]).run().unwrap().line().unwrap();
        let entry = [b"100644 ..\0".to_vec(), hex(&blob)].concat();
        let tree = git()
            .args(["hash-object", "-t", "tree", "-w", "--stdin", "--literally"])
            .input(entry);
        let tree = tree.run().unwrap().line().unwrap();
        let evil = git()
            .args(["commit-tree", "-m", "evil", "-p", &first, &tree])
            .run()
            .unwrap()
            .line()
            .unwrap();
        place_branch(&here, "ralph/b/p", &evil).unwrap();
        fs::remove_file(&file).unwrap();
        write_bundle(&here, &file, &["ralph/b/p"], &[]).unwrap();
        assert!(read_bundle(&there, &file, "ralph/b/p", "b/p").is_err());
        assert_eq!(known_commits(&there).unwrap(), Vec::<String>::new());
    }

    fn hex(text: &str) -> Vec<u8> {
        let pairs = text.as_bytes().chunks(2);
        pairs
            .map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn the_name_of_a_commit_is_no_option_and_no_revision() {
        assert!(is_commit_name(&"0a".repeat(20)) && is_commit_name(&"0a".repeat(32)));
        for text in ["", "HEAD", "--all", &"0A".repeat(20), &"0a".repeat(21)] {
            assert!(!is_commit_name(text), "{text}");
        }
    }
}
