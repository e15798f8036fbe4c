//! The arguments of `ralph comment`.

// Arguments of `ralph comment`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("comment-change").args(["edit", "withdraw", "resolve", "json"]))]
pub(super) struct CommentArgs {
    /// FILE:LINE or FILE:FIRST-LAST, and the comment; it is a draft until it is sent
    #[arg(value_name = "FILE:LINE TEXT")]
    pub(super) words: Vec<String>,
    /// Send all drafts in one message; a run that has ended resumes with it
    #[arg(long, conflicts_with = "comment-change")]
    pub(super) send: bool,
    /// With `--send`: let the agent have the message at once, as `ralph steer --now`
    #[arg(long, requires = "send")]
    pub(super) now: bool,
    /// Replace the text of draft N
    #[arg(long, value_name = "N")]
    pub(super) edit: Option<u32>,
    /// Withdraw draft N
    #[arg(long, value_name = "N")]
    pub(super) withdraw: Option<u32>,
    /// Resolve comment N, which then no longer keeps the run from ending
    #[arg(long, value_name = "N")]
    pub(super) resolve: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
}
