//! Programs that run another program, and their options.

use super::{
    programs::has,
    words::{HOLE, ShellWord},
};

/// How to find the command that a program runs.
pub(super) struct CommandWrapper {
    name: &'static str,
    /// The letters of short options with a value, then of those without.
    letters: [&'static str; 2],
    /// Long options with a value, then those without.
    long: [&'static str; 2],
    /// The number of arguments before the command that are not options.
    pub(super) positional: usize,
    /// Whether it changes the user, the host or the input, so that a rule which allows the command does not allow this
    /// use.
    pub(super) changes_context: bool,
}

const fn wrapper(name: &'static str, valued: &'static str, flags: &'static str) -> CommandWrapper {
    CommandWrapper {
        name,
        letters: [valued, flags],
        long: ["", ""],
        positional: 0,
        changes_context: false,
    }
}

/// Programs that run the command after their options.
const WRAPPERS: &[CommandWrapper] = &[
    wrapper("env", "uC", "i0v").long("--unset --chdir", "--ignore-environment --null --debug"),
    wrapper("sudo", "ugpChRrtTUD", "nSEHkKAbBPN")
        .long(
            "--user --group --prompt --chdir --host --chroot --close-from --role --type",
            "--non-interactive --stdin --preserve-env --set-home --reset-timestamp --background",
        )
        .changing_context(),
    wrapper("doas", "uCa", "nL").changing_context(),
    CommandWrapper {
        positional: 1,
        ..wrapper("timeout", "sk", "v").long("--signal --kill-after", "--foreground --preserve-status --verbose")
    },
    wrapper("nice", "n", "0123456789").long("--adjustment", ""),
    wrapper("ionice", "cn", "t").long("--class --classdata", "--ignore"),
    wrapper("nohup", "", ""),
    wrapper("stdbuf", "ioe", "").long("--input --output --error", ""),
    wrapper("setsid", "", "cfw").long("", "--ctty --fork --wait"),
    wrapper("time", "fo", "apvq").long("--format --output", "--append --portability --verbose --quiet"),
    wrapper("command", "", "p"),
    wrapper("builtin", "", ""),
    wrapper("exec", "a", "cl"),
    wrapper("busybox", "", ""),
    wrapper("toybox", "", ""),
    wrapper("noglob", "", ""),
    wrapper("nocorrect", "", ""),
    wrapper("-", "", ""),
    wrapper("xargs", "InPLdEsa", "0rtpxo").long(
        "--max-args --max-procs --max-lines --delimiter --arg-file --max-chars --replace",
        "--null --no-run-if-empty --verbose --exit --interactive --open-tty",
    ),
];

/// The description of `name`, if it is a program that runs another.
pub(super) fn find_wrapper(name: &str) -> Option<&'static CommandWrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == name)
}

/// Whether only rules for the inner command decide, and none for `name` itself.
pub(in crate::permissions) fn is_transparent(name: &str) -> bool {
    find_wrapper(name).is_some_and(|wrapper| !wrapper.changes_context) || is_shell(name)
}

/// The error for an unknown option: it could have a value, or another meaning.
pub(super) struct UnknownOption;

impl CommandWrapper {
    const fn long(self, valued: &'static str, flags: &'static str) -> Self {
        CommandWrapper {
            long: [valued, flags],
            ..self
        }
    }

    const fn changing_context(self) -> Self {
        CommandWrapper {
            changes_context: true,
            ..self
        }
    }

    /// The index in `words` at which the command begins. `words[0]` is the program itself.
    pub(super) fn command(&self, words: &[ShellWord]) -> Result<usize, UnknownOption> {
        let mut at = 1;
        let assigns = matches!(self.name, "env" | "sudo");
        while let Some(word) = words.get(at) {
            if word.value == "--" {
                at += 1;
                break;
            }
            if word.is_computed() {
                return Err(UnknownOption);
            }
            at += match word.value.strip_prefix('-') {
                Some(letters) if !letters.is_empty() && self.name != "-" => self.width(&word.value, letters)?,
                _ => break,
            };
        }
        while assigns && words.get(at).is_some_and(|word| word.value.contains('=')) {
            at += 1;
        }
        Ok(words.len().min(at + self.positional))
    }

    /// The number of words that an option takes.
    fn width(&self, option: &str, letters: &str) -> Result<usize, UnknownOption> {
        if option.starts_with("--") {
            let (name, value) = option
                .split_once('=')
                .map_or((option, None), |(name, value)| (name, Some(value)));
            return match (has(self.long[0], name), value) {
                (true, None) => Ok(2),
                (true, Some(_)) => Ok(1),
                (false, _) if has(self.long[1], name) => Ok(1),
                (false, _) => Err(UnknownOption),
            };
        }
        for (at, letter) in letters.char_indices() {
            if self.letters[0].contains(letter) {
                let is_last = at + letter.len_utf8() == letters.len();
                return Ok(if is_last { 2 } else { 1 });
            }
            if !self.letters[1].contains(letter) {
                return Err(UnknownOption);
            }
        }
        Ok(1)
    }

    /// The placeholder for the input that an option of the program sets, if any.
    pub(super) fn placeholder<'w>(&self, words: &'w [ShellWord], command: usize) -> Option<&'w str> {
        let front = &words[1..command.min(words.len())];
        let at = front
            .iter()
            .position(|word| word.value.starts_with("-I") || word.value.starts_with("--replace"))?;
        let attached = front[at].value.strip_prefix("-I").unwrap_or_default();
        match (front[at].value.split_once('='), attached) {
            (Some((_, value)), _) => Some(value),
            (None, "") => front.get(at + 1).map(|word| word.value.as_str()),
            (None, attached) => Some(attached),
        }
    }
}

/// Programs that run their arguments, or change what others run, in ways that are not analysed.
const RUNNERS: &str = "eval source . alias shopt setopt unsetopt ssh parallel fish csh tcsh coproc repeat foreach fc compgen complete \
    enable bind let unshare nsenter chroot flock taskset chrt prlimit setpriv setarch runuser pkexec systemd-run \
    start-stop-daemon at batch crontab screen tmux expect entr strace ltrace gdb unbuffer chronic rlwrap socat zargs \
    autoload zmodload sched emulate functions disable hash";

/// Whether `name` serves only to run other commands, or to change how they run.
pub(in crate::permissions) fn is_runner(name: &str) -> bool {
    has(RUNNERS, name)
}

/// Whether a use of a runner runs nothing, or a file that is known by its name as every other program is.
pub(super) fn runs_nothing(words: &[String]) -> bool {
    const TMUX: &str = "ls list-sessions has-session list-windows list-panes capture-pane kill-session kill-server";
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["source" | ".", file] => file.ends_with("/bin/activate") && !file.contains(HOLE),
        // Commands of tmux are separated by `;`, and `#(…)` in a format runs a command.
        ["tmux", command, ..] => has(TMUX, command) && !words.iter().any(|word| word.contains([';', '#', HOLE])),
        ["hash", "-r"] | ["alias"] | ["crontab", "-l"] | ["screen", "-ls"] => true,
        _ => false,
    }
}

/// Whether `name` is a shell whose scripts are analysed.
pub(super) fn is_shell(name: &str) -> bool {
    has("bash sh zsh dash ash ksh mksh rbash", name)
}

/// Whether a variable changes which programs run, or how a shell interprets them.
pub(super) fn changes_programs(name: &str) -> bool {
    const NAMES: &str = "PATH IFS ENV BASH_ENV PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS SHELL HOME PAGER MANPAGER EDITOR VISUAL BROWSER \
        LESSOPEN LESSCLOSE PYTHONSTARTUP PYTHONPATH PYTHONHOME NODE_OPTIONS NODE_PATH PERL5OPT PERL5LIB RUBYOPT \
        RUBYLIB ZDOTDIR XDG_CONFIG_HOME RUSTC_WRAPPER MAKEFLAGS";
    has(NAMES, name)
        || ["GIT_", "LD_", "DYLD_", "BASH_FUNC_", "npm_config_"]
            .iter()
            .any(|start| name.starts_with(start))
}
