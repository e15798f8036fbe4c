//! The preparation of a work tree in words.

use ralph_core::event::PreparedTree;

use super::{counted, short_duration, size_in_words};

/// The steps by which a work tree was prepared.
pub fn tree_in_words(tree: &PreparedTree) -> Vec<String> {
    let copied = (tree.copied_files > 0).then(|| {
        let files = counted(tree.copied_files, "file");
        format!("copied {files} ({})", size_in_words(tree.copied_bytes))
    });
    let linked = (!tree.linked.is_empty()).then(|| format!("linked {}", tree.linked.join(", ")));
    let commands = tree.commands.iter();
    let commands = commands.map(|ran| format!("ran `{}` ({})", ran.command, short_duration(ran.duration_ms)));
    let ports: Vec<String> = tree.ports.iter().map(u16::to_string).collect();
    let reserved = (!ports.is_empty()).then(|| format!("reserved ports {}", ports.join(", ")));
    let steps = copied.into_iter().chain(linked).chain(commands).chain(reserved);
    steps.collect()
}
