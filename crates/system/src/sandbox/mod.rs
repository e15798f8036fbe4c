//! The places that a confined agent may write, and those it may not read, for this user. Pure; `proc` does the
//! confining.
//!
//! Everything may be read except hidden places, and nothing may be written except listed ones: an agent has to build,
//! test and install as its user does, but does not need keys, other agents' sessions or ralph's own records.

mod caches;
pub mod denials;
pub mod hosts;
mod places;
pub mod sockets;

use std::{
    collections::HashSet,
    path::{Path, PathBuf},
};

pub use places::{UserEnvironment, expanded, holds_credentials, shared_caches, shared_writable_places};

/// The file rights of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FilePolicy {
    pub write: Vec<ListedPath>,
    pub hidden: Vec<ListedPath>,
    /// Places that the user wants to remain readable.
    shown: Vec<PathBuf>,
}

/// A directory or a file, and why it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedPath {
    pub path: PathBuf,
    pub why: ListingReason,
    /// Whether the directory is made before the program starts, which could not make it itself.
    pub is_made: bool,
}

impl ListedPath {
    /// Returns what lists a path for this reason. A missing directory may be made.
    fn listed(why: ListingReason, is_made: bool) -> impl Fn(PathBuf) -> ListedPath {
        move |path| ListedPath { path, why, is_made }
    }

    /// The path for people. Raw devices that differ by a number share a pattern of the shell: there may be hundreds.
    pub fn pattern(&self) -> String {
        let path = self.path.display().to_string();
        let stem = path.trim_end_matches(|digit: char| digit.is_ascii_digit());
        match self.why == ListingReason::RawDevice && stem.len() < path.len() {
            true => format!("{stem}[0-9]*"),
            false => path,
        }
    }
}

/// Why a place is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListingReason {
    Project,
    /// Git's own directory of the project, if it is elsewhere: a linked worktree, a submodule.
    Git,
    /// The agent's own data.
    Agent,
    /// Caches of package managers and compilers.
    Cache,
    /// Private replacements for the user's temporary files and caches.
    Private,
    Temporary,
    /// Terminals, and devices that store nothing.
    Device,
    /// Disks and memory of the machine, keyboards and consoles.
    RawDevice,
    Credentials,
    /// Input that was typed into shells and other programs.
    History,
    /// Data of another agent.
    OtherAgent,
    /// Journals, recordings and sockets of ralph.
    RalphState,
    /// A setting of the user.
    Setting,
    /// The files of a sealed goal.
    Sealed,
}

impl ListingReason {
    pub fn in_words(self) -> &'static str {
        match self {
            ListingReason::Project => "the project",
            ListingReason::Git => "the project's git directory",
            ListingReason::Agent => "the agent's own state",
            ListingReason::Cache => "a cache",
            ListingReason::Private => "a directory in the place of temporary files or of a cache",
            ListingReason::Temporary => "temporary files",
            ListingReason::Device => "a terminal or a device that keeps nothing",
            ListingReason::RawDevice => "a disk, the machine's memory, a keyboard or a console",
            ListingReason::Credentials => "keys and passwords",
            ListingReason::History => "shell history",
            ListingReason::OtherAgent => "the state of another agent",
            ListingReason::RalphState => "ralph's own records",
            ListingReason::Setting => "a setting",
            ListingReason::Sealed => "the files of a sealed goal",
        }
    }
}

/// The access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathAccess<'a> {
    Write(&'a ListedPath),
    /// Its name can be listed, its contents cannot be read.
    Hidden(&'a ListedPath),
    Read,
}

/// The places that are listed besides the built-in ones.
#[derive(Debug, Clone, Default)]
pub struct PolicyInput {
    pub project: PathBuf,
    /// Git's directories of the project.
    pub git: Vec<PathBuf>,
    pub ralph_state: PathBuf,
    /// Directories of this agent's data, as manifests write them; empty for a goal.
    pub own: Vec<String>,
    /// As `own`, but files.
    pub own_files: Vec<String>,
    /// As `own`, but files and directories of other agents.
    pub others: Vec<String>,
    /// Directories that replace those for temporary files and shared caches; if set, histories are hidden, too.
    pub private: Option<Vec<PathBuf>>,
    /// Additional places to write, hide and show from the settings.
    pub write: Vec<String>,
    pub hide: Vec<String>,
    pub show: Vec<String>,
    /// Devices that hold files, or what is typed or shown.
    pub raw_devices: Vec<PathBuf>,
    /// The [`root_secrets`] that exist, if the program runs as root.
    pub root_secrets: Vec<ListedPath>,
    /// Directories of sealed goals, which no setting shows.
    pub sealed: Vec<PathBuf>,
}

/// Returns what root can read and other users cannot: keys of the machine, and in the homes of other users their keys and
/// the state of `agents`, which is written as in manifests.
pub fn root_secrets(other_homes: &[PathBuf], agents: &[String]) -> Vec<ListedPath> {
    let credentials = places::credentials();
    let system = places::SYSTEM_CREDENTIALS.iter().map(PathBuf::from);
    let mut secrets: Vec<ListedPath> = system
        .map(ListedPath::listed(ListingReason::Credentials, false))
        .collect();
    for home in other_homes {
        let in_home = |text: &String| Some(home.join(text.strip_prefix("~/")?));
        let keys = credentials.iter().filter_map(in_home);
        let states = agents.iter().filter_map(in_home);
        secrets.extend(keys.map(ListedPath::listed(ListingReason::Credentials, false)));
        secrets.extend(states.map(ListedPath::listed(ListingReason::OtherAgent, false)));
    }
    secrets
}

impl FilePolicy {
    /// The lists for the user of `world`, for whom some programs are installed.
    pub fn from_input(wanted: &PolicyInput, world: &UserEnvironment<'_>, is_installed: impl Fn(&str) -> bool) -> Self {
        let expand = |texts: &[String]| -> Vec<PathBuf> {
            texts
                .iter()
                .filter_map(|text| expanded(text, &wanted.project, world))
                .collect()
        };
        let place = |why: ListingReason| ListedPath::listed(why, false);
        let made = |why: ListingReason| ListedPath::listed(why, true);
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let listed = |written: &[&str], why: ListingReason| {
            expand(&texts(written)).into_iter().map(place(why)).collect::<Vec<_>>()
        };
        let own = expand(&wanted.own);
        let own_files = expand(&wanted.own_files);
        let mut write = vec![place(ListingReason::Project)(wanted.project.clone())];
        let elsewhere = wanted.git.iter().filter(|path| !path.starts_with(&wanted.project));
        write.extend(elsewhere.cloned().map(place(ListingReason::Git)));
        write.extend(own.iter().cloned().map(made(ListingReason::Agent)));
        write.extend(own_files.iter().cloned().map(place(ListingReason::Agent)));
        match &wanted.private {
            Some(private) => write.extend(private.iter().cloned().map(made(ListingReason::Private))),
            None => {
                for tool in caches::all() {
                    let is_made = tool.programs.iter().any(|program| is_installed(program));
                    let places = expand(&caches::written(tool)).into_iter();
                    write.extend(places.map(ListedPath::listed(ListingReason::Cache, is_made)));
                }
                write.extend(listed(places::TEMPORARY, ListingReason::Temporary));
            }
        }
        write.extend(listed(places::DEVICES, ListingReason::Device));
        write.extend(expand(&wanted.write).into_iter().map(place(ListingReason::Setting)));

        let mut hidden: Vec<ListedPath> = wanted
            .sealed
            .iter()
            .cloned()
            .map(place(ListingReason::Sealed))
            .collect();
        hidden.push(place(ListingReason::RalphState)(wanted.ralph_state.clone()));
        let credentials = expand(&places::credentials()).into_iter();
        hidden.extend(credentials.map(place(ListingReason::Credentials)));
        // This agent may be installed in another user's home, in the directory of its state.
        let own_texts = wanted.own.iter().chain(&wanted.own_files);
        let own_in_home: Vec<&str> = own_texts.filter_map(|text| text.strip_prefix("~/")).collect();
        let is_own = |secret: &ListedPath| {
            secret.why == ListingReason::OtherAgent && own_in_home.iter().any(|below| secret.path.ends_with(below))
        };
        hidden.extend(wanted.root_secrets.iter().filter(|secret| !is_own(secret)).cloned());
        hidden.extend(wanted.raw_devices.iter().cloned().map(place(ListingReason::RawDevice)));
        if wanted.private.is_some() {
            hidden.extend(listed(places::HISTORIES, ListingReason::History));
        }
        let others = expand(&wanted.others).into_iter();
        hidden.extend(
            others
                .filter(|other| !own.contains(other) && !own_files.contains(other))
                .map(place(ListingReason::OtherAgent)),
        );
        hidden.extend(expand(&wanted.hide).into_iter().map(place(ListingReason::Setting)));
        let shown = expand(&wanted.show);
        // Two variables may name one place.
        for list in [&mut write, &mut hidden] {
            let mut seen = HashSet::new();
            list.retain(|place| seen.insert(place.path.clone()));
        }
        let policy = FilePolicy { write, hidden, shown };
        policy.without_shown().without_nested()
    }

    /// Removes places inside another writable place, which are writable anyway. A program could replace one by a link,
    /// and the link's target would be writable for the next program.
    fn without_nested(mut self) -> Self {
        let paths: HashSet<PathBuf> = self.write.iter().map(|place| place.path.clone()).collect();
        let is_nested = |path: &Path| path.ancestors().skip(1).any(|above| paths.contains(above));
        self.write.retain(|place| !is_nested(&place.path));
        self
    }

    fn without_shown(mut self) -> Self {
        let FilePolicy { hidden, shown, .. } = &mut self;
        hidden.retain(|place| place.why == ListingReason::Sealed || !shown.contains(&place.path));
        self
    }

    /// Restricts writing to `writable` and to devices that no other process reads from: files written elsewhere could
    /// be read by processes from which this policy keeps them.
    #[must_use]
    pub fn writing_only(mut self, writable: impl IntoIterator<Item = PathBuf>) -> Self {
        let is_kept = |place: &ListedPath| {
            place.why == ListingReason::Device
                && !places::SHARED_DEVICES
                    .iter()
                    .any(|shared| place.path == Path::new(shared))
        };
        self.write.retain(is_kept);
        let writable = writable.into_iter();
        self.write
            .extend(writable.map(ListedPath::listed(ListingReason::Private, false)));
        self
    }

    /// Removes the writable places that are not there and that nobody makes: the system allows only what exists when a
    /// program starts.
    #[must_use]
    pub fn in_effect(mut self, exists: impl Fn(&Path) -> bool) -> Self {
        self.write.retain(|place| place.is_made || exists(&place.path));
        self
    }

    /// Resolves symbolic links in each place by `canonical`.
    #[must_use]
    pub fn resolved(mut self, mut canonical: impl FnMut(&Path) -> PathBuf) -> Self {
        for place in self.write.iter_mut().chain(&mut self.hidden) {
            place.path = canonical(&place.path);
        }
        for path in &mut self.shown {
            *path = canonical(path);
        }
        self.without_shown().without_nested()
    }

    /// Returns the paths that the user wants to remain readable inside of a hidden place.
    pub fn shown_in_hidden(&self) -> impl Iterator<Item = &PathBuf> {
        let is_hidden = |path: &&PathBuf| {
            let hides = |place: &ListedPath| place.why != ListingReason::Sealed && path.starts_with(&place.path);
            self.hidden.iter().any(hides)
        };
        self.shown.iter().filter(is_hidden)
    }

    /// Returns the access to `path`, which is absolute and without symbolic links.
    pub fn access(&self, path: &Path) -> PathAccess<'_> {
        let above = |list: &'_ [ListedPath]| list.iter().position(|place| path.starts_with(&place.path));
        let is_shown = self.shown_in_hidden().any(|shown| path.starts_with(shown));
        // A writable place inside a hidden one stays writable: a Landlock rule cannot be taken back further down.
        if let Some(index) = above(&self.write) {
            return PathAccess::Write(&self.write[index]);
        }
        match above(&self.hidden) {
            Some(index) if !is_shown => PathAccess::Hidden(&self.hidden[index]),
            Some(_) | None => PathAccess::Read,
        }
    }

    /// Returns the places that should be hidden but are not, because they are inside a writable place.
    pub fn exposed(&self) -> impl Iterator<Item = &ListedPath> {
        let written: HashSet<&Path> = self.write.iter().map(|place| place.path.as_path()).collect();
        let in_writable = move |hidden: &&ListedPath| hidden.path.ancestors().any(|above| written.contains(above));
        self.hidden.iter().filter(in_writable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(change: impl FnOnce(&mut PolicyInput)) -> FilePolicy {
        let variable = |name: &str| (name == "CODEX_HOME").then(|| "/srv/codex".to_owned());
        let world = UserEnvironment {
            home: Some("/home/me"),
            variable: &variable,
        };
        let mut wanted = PolicyInput {
            project: "/home/me/work".into(),
            git: vec!["/home/me/work/.git".into()],
            ralph_state: "/home/me/.local/state/ralph".into(),
            own: vec!["$CODEX_HOME".to_owned(), "~/.codex".to_owned()],
            others: vec!["~/.claude".to_owned(), "~/.codex".to_owned()],
            ..PolicyInput::default()
        };
        change(&mut wanted);
        FilePolicy::from_input(&wanted, &world, |program| program == "cargo")
    }

    #[track_caller]
    fn assert_access(policy: &FilePolicy, path: &str, expected: Option<ListingReason>, is_hidden: bool) {
        let (found, hidden) = match policy.access(Path::new(path)) {
            PathAccess::Write(place) => (Some(place.why), false),
            PathAccess::Hidden(place) => (Some(place.why), true),
            PathAccess::Read => (None, false),
        };
        assert_eq!((found, hidden), (expected, is_hidden), "{path}");
    }

    #[test]
    fn the_project_its_own_state_and_caches_are_written_keys_and_other_agents_hidden_and_all_else_read() {
        let policy = policy(|_| {});
        for (path, why, hidden) in [
            ("/home/me/work/src/main.rs", Some(ListingReason::Project), false),
            ("/home/me/workshop/main.rs", None, false),
            ("/srv/codex/auth.json", Some(ListingReason::Agent), false),
            ("/home/me/.codex/auth.json", Some(ListingReason::Agent), false),
            ("/home/me/.claude/projects/x", Some(ListingReason::OtherAgent), true),
            ("/home/me/.ssh/id_ed25519", Some(ListingReason::Credentials), true),
            (
                "/home/me/.local/state/ralph/work-1/runs",
                Some(ListingReason::RalphState),
                true,
            ),
            ("/home/me/.cargo/registry/index", Some(ListingReason::Cache), false),
            (
                "/home/me/.cargo/credentials.toml",
                Some(ListingReason::Credentials),
                true,
            ),
            ("/home/me/.cargo/bin/cargo", None, false),
            ("/dev/null", Some(ListingReason::Device), false),
            ("/dev/sda", None, false),
            ("/etc/passwd", None, false),
            // Another user than root cannot read it anyway.
            ("/etc/shadow", None, false),
        ] {
            assert_access(&policy, path, why, hidden);
        }
        let is_made = |path: &str| {
            policy
                .write
                .iter()
                .any(|place| place.path == Path::new(path) && place.is_made)
        };
        assert!(is_made("/home/me/.cargo/registry"), "cargo is installed");
        assert!(!is_made("/home/me/.npm"));
        assert_eq!(policy.exposed().count(), 0);
    }

    #[test]
    fn from_root_keys_of_the_machine_and_of_other_users_are_hidden() {
        let policy = policy(|wanted| {
            wanted.root_secrets = root_secrets(&["/home/other".into()], &wanted.others);
        });
        let credentials = Some(ListingReason::Credentials);
        for (path, why) in [
            ("/etc/shadow", credentials),
            ("/etc/ssh/ssh_host_rsa_key", credentials),
            ("/etc/ssh/ssh_host_rsa_key.pub", None),
            ("/home/other/.ssh/id_ed25519", credentials),
            ("/home/other/.config/gh/hosts.yml", credentials),
            ("/home/other/.claude/projects/x", Some(ListingReason::OtherAgent)),
            ("/home/other/.codex/bin/codex", None),
            ("/home/other/work/main.rs", None),
        ] {
            assert_access(&policy, path, why, why.is_some());
        }
    }

    #[test]
    fn raw_devices_that_differ_by_a_number_are_shown_as_one() {
        let pattern = |path: &str, why| {
            ListedPath {
                path: path.into(),
                why,
                is_made: false,
            }
            .pattern()
        };
        for (path, shown) in [
            ("/dev/tty63", "/dev/tty[0-9]*"),
            ("/dev/nvme0n1p12", "/dev/nvme0n1p[0-9]*"),
            ("/dev/sda", "/dev/sda"),
        ] {
            assert_eq!(pattern(path, ListingReason::RawDevice), shown);
        }
        assert_eq!(pattern("/home/me1", ListingReason::Setting), "/home/me1");
    }

    #[test]
    fn settings_add_to_both_lists_and_take_back_from_the_hidden_one() {
        let policy = policy(|wanted| {
            wanted.write = vec!["~/notes".to_owned(), "../shared".to_owned()];
            wanted.hide = vec!["~/clients".to_owned()];
            wanted.show = vec!["~/.npmrc".to_owned()];
        });
        assert_access(&policy, "/home/me/notes/x", Some(ListingReason::Setting), false);
        assert_access(&policy, "/home/me/shared/x", Some(ListingReason::Setting), false);
        assert_access(&policy, "/home/me/clients/x", Some(ListingReason::Setting), true);
        assert_access(&policy, "/home/me/.npmrc", None, false);
    }

    #[test]
    fn one_file_of_a_hidden_directory_can_be_shown() {
        let policy = policy(|wanted| wanted.show = vec!["~/.kube/config".to_owned()]);
        assert_access(&policy, "/home/me/.kube/config", None, false);
        assert_access(&policy, "/home/me/.kube/cache", Some(ListingReason::Credentials), true);
        assert_eq!(policy.shown_in_hidden().count(), 1);
    }

    #[test]
    fn private_places_stand_in_for_temporary_files_and_shared_caches_and_histories_are_hidden() {
        let policy = policy(|wanted| wanted.private = Some(vec!["/private/tmp".into()]));
        assert_access(&policy, "/private/tmp/x", Some(ListingReason::Private), false);
        assert_access(&policy, "/tmp/x", None, false);
        assert_access(&policy, "/home/me/.cargo/registry/index", None, false);
        assert_access(&policy, "/home/me/.bash_history", Some(ListingReason::History), true);
        assert_access(&policy, "/srv/codex/auth.json", Some(ListingReason::Agent), false);
    }

    #[test]
    fn places_behind_a_symbolic_link_are_told_by_where_it_leads() {
        let moved = |path: &Path| match path.strip_prefix("/home/me") {
            Ok(rest) => Path::new("/data/me").join(rest),
            Err(_) => path.to_owned(),
        };
        let policy = policy(|_| {}).resolved(moved);
        assert_access(&policy, "/data/me/.ssh/id", Some(ListingReason::Credentials), true);
        assert_access(&policy, "/data/me/work/src", Some(ListingReason::Project), false);
    }

    #[test]
    fn a_place_in_a_writable_one_is_not_listed_for_itself_and_not_followed_where_a_link_of_it_leads() {
        let policy = policy(|wanted| {
            wanted.write = vec![
                "/home/me/work/build".to_owned(),
                "/tmp/mine".to_owned(),
                "/srv/data".to_owned(),
            ];
        });
        // An agent has replaced two places by links to the user's keys.
        let policy = policy.resolved(|path| match path.ends_with("build") || path.ends_with("mine") {
            true => "/home/me/.ssh".into(),
            false => path.to_owned(),
        });
        assert_access(&policy, "/home/me/.ssh/id", Some(ListingReason::Credentials), true);
        assert_access(&policy, "/home/me/work/build/x", Some(ListingReason::Project), false);
        assert_access(&policy, "/srv/data/x", Some(ListingReason::Setting), false);
    }

    #[test]
    fn git_directories_outside_of_the_project_are_written() {
        let policy =
            policy(|wanted| wanted.git = vec!["/home/me/main/.git/worktrees/w".into(), "/home/me/main/.git".into()]);
        assert_access(
            &policy,
            "/home/me/main/.git/objects/ab",
            Some(ListingReason::Git),
            false,
        );
        assert_access(&policy, "/home/me/main/src", None, false);
    }

    #[test]
    fn what_lies_in_a_writable_place_is_exposed_and_said_to_be() {
        let policy = policy(|wanted| wanted.project = "/home/me".into());
        let exposed: Vec<&Path> = policy.exposed().map(|place| place.path.as_path()).collect();
        assert!(exposed.contains(&Path::new("/home/me/.ssh")), "{exposed:?}");
    }
}
