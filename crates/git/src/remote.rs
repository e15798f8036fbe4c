//! Pushes to and fetches from a remote, without the repository's own configuration.
//!
//! An agent can write `.git/config`: a remote, a rewritten address, a credential helper or an ssh command there would send
//! the user's token, or the work, anywhere. So git runs in a directory of ralph's own that only borrows the objects, and
//! the address is the one that was recorded before any agent ran. The user's and the system's configuration count.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use ralph_system::{
    proc::Supervisor,
    scratch::{self, ScratchDirectory},
};
use thiserror::Error;

use super::{
    Branches, GitError,
    process::{self, Git, GitOutput},
};

/// The variable by which git reads and writes the objects of another repository.
const OBJECTS: &str = "GIT_OBJECT_DIRECTORY";

/// An error of a push or a fetch.
#[derive(Debug, Error)]
pub enum RemoteError {
    /// The branch was moved by somebody else.
    #[error("`{branch}` on the remote was moved by somebody else: it is not at the commit that ralph pushed")]
    MovedByOthers { branch: String },
    #[error("the remote refuses `{branch}`: {why}")]
    Refused { branch: String, why: String },
    #[error("the remote does not let this user in: {said}")]
    Login { said: String },
    #[error("the remote has no branch `{branch}`")]
    NoBranch { branch: String },
    #[error("the remote does not answer: {said}")]
    Unreachable { said: String },
    #[error(transparent)]
    Git(#[from] GitError),
}

impl RemoteError {
    /// Whether the same command may succeed later by itself.
    pub fn is_passing(&self) -> bool {
        match self {
            RemoteError::Unreachable { .. }
            | RemoteError::Git(GitError::TimedOut { .. } | GitError::Blocked { .. }) => true,
            RemoteError::MovedByOthers { .. }
            | RemoteError::Refused { .. }
            | RemoteError::Login { .. }
            | RemoteError::NoBranch { .. }
            | RemoteError::Git(_) => false,
        }
    }
}

/// Returns the address of a remote in the repository's configuration; `None` if there is no such remote.
///
/// # Errors
/// [`GitError`] if git cannot be asked.
pub fn remote_address(branches: &Branches, remote: &str) -> Result<Option<String>, GitError> {
    let key = format!("remote.{remote}.url");
    let output = branches
        .unconfined(branches.root())
        .args(["config", "--get", &key])
        .run_any()?;
    output.success().then(|| output.line()).transpose()
}

/// A repository of ralph's own for one remote.
#[derive(Debug, Clone)]
pub struct RemoteRepository {
    directory: PathBuf,
    /// The root of the project: programs that an agent can have put on `PATH` below it are passed over.
    root: PathBuf,
    objects: PathBuf,
    address: String,
    supervisor: Supervisor,
}

impl RemoteRepository {
    /// Makes the repository in `directory`, where no agent writes, or finds it there.
    ///
    /// # Errors
    /// [`GitError`] if it cannot be made.
    pub fn open(
        branches: &Branches,
        directory: &Path,
        address: &str,
        supervisor: &Supervisor,
    ) -> Result<RemoteRepository, GitError> {
        let repository = RemoteRepository {
            directory: directory.to_owned(),
            root: branches.root().to_owned(),
            objects: branches.common_dir().join("objects"),
            address: address.to_owned(),
            supervisor: supervisor.clone(),
        };
        // It appears whole. `git init` locks the configuration of a repository that is there, and several deliveries
        // begin at once.
        if !directory.is_dir() {
            let at = |source| repository.unusable(source);
            let place = directory.with_extension("new");
            scratch::sweep(&place);
            let made = ScratchDirectory::new(&place).map_err(at)?;
            Git::at(supervisor, branches.root())
                .args(["init", "--quiet", "--bare", "--template="])
                .args([made.path()])
                .run()?;
            fs::rename(made.path(), directory).or_else(|error| match directory.is_dir() {
                true => Ok(()),
                false => Err(at(error)),
            })?;
        }
        Ok(repository)
    }

    fn unusable(&self, source: io::Error) -> GitError {
        let path = self.directory.clone();
        GitError::File { path, source }
    }

    /// Pushes a commit to a branch that is at `expected` there, or does not exist there if that is `None`. A branch that is
    /// at the commit already stays.
    ///
    /// # Errors
    /// [`RemoteError`]
    pub fn push(&self, commit: &str, branch: &str, expected: Option<&str>) -> Result<(), RemoteError> {
        let lease = format!(
            "--force-with-lease=refs/heads/{branch}:{}",
            expected.unwrap_or_default()
        );
        let refspec = format!("{commit}:refs/heads/{branch}");
        let push = [
            "push",
            "--porcelain",
            "--no-verify",
            "--quiet",
            &lease,
            "--",
            &self.address,
            &refspec,
        ];
        let output = self.git().args(push).run_any()?;
        if output.success() {
            return Ok(());
        }
        let printed = String::from_utf8_lossy(&output.stdout);
        let rejected = printed.lines().find_map(|line| line.strip_prefix("!\t"));
        match rejected.map(|line| line.rsplit('\t').next().unwrap_or(line).to_owned()) {
            Some(why) if why.contains("stale info") || why.contains("fetch first") => Err(RemoteError::MovedByOthers {
                branch: branch.to_owned(),
            }),
            Some(why) => Err(RemoteError::Refused {
                branch: branch.to_owned(),
                why,
            }),
            None => Err(failure(&output)),
        }
    }

    /// Fetches a branch, and returns its commit. No reference of the user's repository is changed.
    ///
    /// # Errors
    /// [`RemoteError`]
    pub fn fetch(&self, branch: &str) -> Result<String, RemoteError> {
        let own = "refs/ralph/fetched";
        let at = |source| self.unusable(source);
        let one_at_a_time = File::create(self.directory.join("fetch.lock")).map_err(at)?;
        one_at_a_time.lock().map_err(at)?;
        // Only a git that was killed can have left it.
        _ = fs::remove_file(self.directory.join(format!("{own}.lock")));
        let refspec = format!("+refs/heads/{branch}:{own}");
        let fetch = ["fetch", "--quiet", "--no-tags", "--", &self.address, &refspec];
        let output = self.git().args(fetch).run_any()?;
        if !output.success() {
            return Err(match output.stderr.contains("couldn't find remote ref") {
                true => RemoteError::NoBranch {
                    branch: branch.to_owned(),
                },
                false => failure(&output),
            });
        }
        let commit = self.git().args(["rev-parse", "--verify", own]).run()?.line()?;
        match is_commit_name(&commit) {
            true => Ok(commit),
            false => Err(RemoteError::NoBranch {
                branch: branch.to_owned(),
            }),
        }
    }

    fn git(&self) -> Git {
        Git::at(&self.supervisor, &self.root)
            // Used where the user's own helpers know nothing.
            .setting("credential.helper=!gh auth git-credential")
            .env("GIT_DIR", &self.directory)
            .env(OBJECTS, &self.objects)
            .deadline(process::DEADLINE)
    }
}

/// Returns the error of a failed command: a refused login is told from a remote that does not answer.
fn failure(output: &GitOutput) -> RemoteError {
    let said = output.stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<&str> = said.map(|line| line.trim_start_matches("fatal: ")).take(2).collect();
    let said = said.join(" ");
    let is_login = [
        "Authentication failed",
        "could not read Username",
        "could not read Password",
        "Permission denied",
        "Repository not found",
        "error: 401",
        "error: 403",
        "does not appear to be a git repository",
    ];
    match is_login.iter().any(|words| output.stderr.contains(words)) {
        true => RemoteError::Login { said },
        false => RemoteError::Unreachable { said },
    }
}

/// Whether the text is the full name of an object, and no option or revision.
fn is_commit_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    struct Repositories {
        _root: tempfile::TempDir,
        project: PathBuf,
        bare: PathBuf,
        remote: RemoteRepository,
    }

    fn git(directory: &Path, args: &[&str]) -> String {
        let output = Command::new("git")
            .current_dir(directory)
            .args(["-c", "user.name=x", "-c", "user.email=x@localhost"])
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn repositories() -> Repositories {
        let root = tempfile::tempdir().unwrap();
        let (project, bare) = (root.path().join("project"), root.path().join("bare.git"));
        fs::create_dir(&project).unwrap();
        git(root.path(), &["init", "--quiet", "--bare", "bare.git"]);
        git(&project, &["init", "--quiet", "--initial-branch=main"]);
        git(&project, &["commit", "--quiet", "--allow-empty", "--message", "One"]);
        git(&project, &["push", "--quiet", bare.to_str().unwrap(), "main"]);
        let supervisor = Supervisor::default();
        let branches = Branches::find(&project, &supervisor).unwrap();
        let own = root.path().join("own.git");
        let remote = RemoteRepository::open(&branches, &own, bare.to_str().unwrap(), &supervisor).unwrap();
        RemoteRepository::open(&branches, &own, bare.to_str().unwrap(), &supervisor).unwrap();
        Repositories {
            _root: root,
            project,
            bare,
            remote,
        }
    }

    #[test]
    fn deliveries_that_begin_at_once_share_a_repository_which_no_lock_of_git_keeps_from_them() {
        let here = repositories();
        let branches = Branches::find(&here.project, &here.remote.supervisor).unwrap();
        let own = here.project.with_file_name("other.git");
        let open = || RemoteRepository::open(&branches, &own, &here.remote.address, &here.remote.supervisor).unwrap();
        let main = git(&here.bare, &["rev-parse", "main"]);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| assert_eq!(open().fetch("main").unwrap(), main));
            }
        });
        for left in ["config.lock", "refs/ralph/fetched.lock"] {
            fs::write(own.join(left), "").unwrap();
        }
        assert_eq!(open().fetch("main").unwrap(), main);
        assert_eq!(
            fs::read_dir(here.project.with_file_name("other.new")).unwrap().count(),
            0
        );
    }

    #[test]
    fn a_commit_is_pushed_again_without_harm_and_a_moved_branch_is_left_alone() {
        let here = repositories();
        let one = git(&here.project, &["rev-parse", "main"]);
        here.remote.push(&one, "work", None).unwrap();
        here.remote.push(&one, "work", None).unwrap();
        git(
            &here.project,
            &["commit", "--quiet", "--allow-empty", "--message", "Two"],
        );
        let two = git(&here.project, &["rev-parse", "main"]);
        here.remote.push(&two, "work", Some(&one)).unwrap();
        assert_eq!(git(&here.bare, &["rev-parse", "work"]), two);
        // Somebody else pushes.
        git(&here.bare, &["update-ref", "refs/heads/work", &one]);
        git(
            &here.project,
            &["commit", "--quiet", "--allow-empty", "--message", "Three"],
        );
        let three = git(&here.project, &["rev-parse", "main"]);
        let refused = here.remote.push(&three, "work", Some(&two)).unwrap_err();
        assert!(matches!(refused, RemoteError::MovedByOthers { .. }), "{refused}");
        assert!(!refused.is_passing());
        assert_eq!(git(&here.bare, &["rev-parse", "work"]), one);
    }

    #[test]
    fn a_branch_is_fetched_into_the_projects_objects_and_moves_nothing_there() {
        let here = repositories();
        let tree = git(&here.bare, &["rev-parse", "main^{tree}"]);
        let made = git(&here.bare, &["commit-tree", "-p", "main", "-m", "Theirs", &tree]);
        git(&here.bare, &["update-ref", "refs/heads/main", &made]);
        let before = git(&here.project, &["for-each-ref"]);
        assert_eq!(here.remote.fetch("main").unwrap(), made);
        assert_eq!(git(&here.project, &["cat-file", "-t", &made]), "commit");
        assert_eq!(git(&here.project, &["for-each-ref"]), before);
        let missing = here.remote.fetch("other").unwrap_err();
        assert!(matches!(missing, RemoteError::NoBranch { .. }), "{missing}");
    }

    #[test]
    fn what_an_agent_writes_into_the_repositorys_configuration_does_not_count() {
        let here = repositories();
        let witness = here.project.join("witness");
        let touch = format!("!touch {}", witness.display());
        let bare = here.bare.to_str().unwrap();
        git(&here.project, &["config", "core.sshCommand", &touch]);
        git(&here.project, &["config", "credential.helper", &touch]);
        git(&here.project, &["config", "url.ext::touch.insteadOf", bare]);
        git(&here.project, &["config", "remote.origin.url", "elsewhere"]);
        let hook = here.project.join(".git/hooks/pre-push");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, format!("#!/bin/sh\n{}\n", &touch[1..])).unwrap();
        git(&here.project, &["update-index", "--refresh"]);
        let one = git(&here.project, &["rev-parse", "main"]);
        here.remote.push(&one, "work", None).unwrap();
        assert_eq!(git(&here.bare, &["rev-parse", "work"]), one);
        assert!(!witness.exists());
    }

    #[test]
    fn a_remote_that_is_gone_or_refuses_says_so() {
        let here = repositories();
        let one = git(&here.project, &["rev-parse", "main"]);
        let hook = here.bare.join("hooks/pre-receive");
        fs::create_dir_all(hook.parent().unwrap()).unwrap();
        fs::write(&hook, "#!/bin/sh\necho no >&2\nexit 1\n").unwrap();
        fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let refused = here.remote.push(&one, "work", None).unwrap_err();
        assert!(matches!(refused, RemoteError::Refused { .. }), "{refused}");
        fs::remove_dir_all(&here.bare).unwrap();
        let gone = here.remote.push(&one, "work", None).unwrap_err();
        assert!(matches!(gone, RemoteError::Login { .. }), "{gone}");
    }

    #[test]
    fn the_name_of_a_commit_is_no_option_and_no_revision() {
        assert!(is_commit_name(&"0a".repeat(20)) && is_commit_name(&"0a".repeat(32)));
        for text in ["", "HEAD", "--all", &"0A".repeat(20), &"0a".repeat(21)] {
            assert!(!is_commit_name(text), "{text}");
        }
    }
}
