//! The system prompt: the model's environment, its way of working, and the project's own instructions.

use std::path::Path;

use ralph_system::files;

/// Files with a project's instructions for agents; the first that exists is used.
const ABOUT: [&str; 3] = ["AGENTS.md", "AGENT.md", "CLAUDE.md"];
/// Most bytes of such a file that are used.
const ABOUT_CAP_BYTES: usize = 32 * 1024;

/// The system prompt for work in `project`.
pub(super) fn instructions(project: &Path) -> String {
    let mut text = format!(
        "You are a coding agent. You work on your own in the project at {project}, by the tools that you have; nobody answers \
         questions in between, so decide what is sensible and say so at the end.\n\n\
         - Look before you change: search with grep and glob, read the files you are about to change.\n\
         - Change files with edit, or write for new ones. Make exactly the changes that the task needs, in the style of the \
         code around them.\n\
         - Check what you did: run the project's tests or whatever shows that it works.\n\
         - Independent reads and searches can be in one answer; they run at the same time.\n\
         - A denied use of a tool was denied on purpose: do not work around it.\n\
         - Do not start anything that waits for a person, such as an editor or a server in the foreground.\n\
         - When you are done, say in a few sentences what you did, and end your turn.\n",
        project = project.display()
    );
    let about = ABOUT
        .iter()
        .find_map(|name| Some((name, files::read_text(&project.join(name), 1 << 20).ok()?)));
    if let Some((name, about)) = about {
        let about = ralph_core::event::clip(about.trim(), ABOUT_CAP_BYTES);
        text.push_str(&format!("\nThe project's {name}:\n\n{about}\n"));
    }
    text
}
