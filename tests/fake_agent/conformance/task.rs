//! The tasks of the turns, in words that a model follows as well as a scripted agent.

/// The variable with the name of the task.
pub(super) const TASK_VAR: &str = "RALPH_CONFORMANCE";
/// A variable that no agent knows.
pub(super) const UNKNOWN_VAR: (&str, &str) = ("RALPH_OF_A_LATER_VERSION", "line 1\nline 2: ü \"'$");
/// The file that a task has the agent write.
pub(super) const WRITTEN: &str = "conformance.txt";
/// The file that is made by the process for whose end an agent waits.
pub(super) const BEGUN: &str = "begun";
/// The last line of the long output.
pub(super) const LAST_LINE: &str = "200000";
/// The least size of a long prompt.
const LONG_BYTES: usize = 200_000;

/// A task, which takes one turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConformanceTask {
    /// Write a file.
    Write,
    /// Say what was written in the turn before.
    Recall,
    /// Find the task at the end of a long prompt.
    LongPrompt,
    /// Answer.
    Reply,
    /// Run a command with a long output.
    LongOutput,
    /// Fail as with a refused key.
    Refused,
    /// Run a command that takes minutes.
    Wait,
}

impl ConformanceTask {
    /// The value of the variable `RALPH_CONFORMANCE`.
    pub(super) fn name(self) -> &'static str {
        match self {
            ConformanceTask::Write => "write",
            ConformanceTask::Recall => "recall",
            ConformanceTask::LongPrompt => "long-prompt",
            ConformanceTask::Reply => "reply",
            ConformanceTask::LongOutput => "long-output",
            ConformanceTask::Refused => "refused",
            ConformanceTask::Wait => "wait",
        }
    }

    /// The request to the agent. `word` is new in each run.
    fn words(self, word: &str) -> String {
        match self {
            ConformanceTask::Write => {
                format!("Write the text `{word}` into the file `{WRITTEN}`. Then reply with `{word}`.")
            }
            ConformanceTask::Recall => format!(
                "Reply with the text that you wrote into the file `{WRITTEN}` in the turn before. The file is gone."
            ),
            ConformanceTask::LongPrompt | ConformanceTask::Reply => format!("Reply with `{word}`."),
            ConformanceTask::LongOutput => {
                "Run the command `seq 200000` and report its whole output. Then reply with its last line.".to_owned()
            }
            ConformanceTask::Refused => {
                format!("Your model refuses the key in this turn. Only if that cannot be had, reply with `{word}`.")
            }
            ConformanceTask::Wait => {
                format!("Run the command `sleep 300 > {BEGUN}` and wait for its end. Then reply with `{word}`.")
            }
        }
    }

    /// The whole prompt.
    pub(super) fn prompt(self, word: &str) -> String {
        let mut prompt = "This is a test of your program. There is no other task.\n\n".to_owned();
        if self == ConformanceTask::LongPrompt {
            let mut line = 0;
            while prompt.len() < LONG_BYTES {
                line += 1;
                prompt += &format!("Line {line} of a long prompt asks for nothing.\n");
            }
            prompt.push('\n');
        }
        prompt + &self.words(word) + "\n"
    }
}
