//! Layers over the room: goals find other files there, and what they write is apart. So they run at once on several trees.

use std::{
    fs::{self, Permissions},
    io,
    os::unix::{ffi::OsStringExt, fs::PermissionsExt, fs::symlink},
    path::{Path, PathBuf},
};

use ralph_gate::guard::FileContent;
use ralph_system::{
    paths::create_private_dir,
    proc::{Mount, MountWrites},
    tree_copy::take_out,
};

use super::room_packages::in_words;

/// Writes a file or link where there is none.
pub(super) fn write_content(path: &Path, content: &FileContent) -> io::Result<()> {
    match content {
        FileContent::Nothing => Ok(()),
        FileContent::File { bytes, mode } => {
            fs::write(path, bytes).and_then(|()| fs::set_permissions(path, Permissions::from_mode(*mode)))
        }
        FileContent::Link(target) => symlink(std::ffi::OsString::from_vec(target.clone()), path),
    }
}

/// A layer over a copy of the project.
#[derive(Debug, Clone)]
pub(super) struct RoomLayer(PathBuf);

impl RoomLayer {
    /// Makes a layer in `directory` by which a `project` has other files, each at its path below it. The layer is of `tree`, in
    /// which the project is.
    ///
    /// # Errors
    /// Why that is not possible, as where a directory is in the way.
    pub(super) fn make(
        directory: PathBuf,
        (tree, project): (&Path, &Path),
        files: &[(String, FileContent)],
    ) -> Result<RoomLayer, String> {
        let layer = RoomLayer(directory);
        in_words(create_private_dir(&layer.files()))?;
        for (path, content) in files {
            let full = project.join(path);
            let below = full.strip_prefix(tree).map_err(|error| error.to_string())?;
            layer
                .put(tree, below, content)
                .map_err(|why| format!("{}: {why}", full.display()))?;
        }
        Ok(layer)
    }

    fn put(&self, tree: &Path, path: &Path, content: &FileContent) -> Result<(), String> {
        let mut above = PathBuf::new();
        for part in path.parent().into_iter().flat_map(Path::components) {
            above.push(part);
            let here = self.files().join(&above);
            let mode = match fs::symlink_metadata(tree.join(&above)) {
                Ok(there) if there.is_dir() => there.permissions(),
                Ok(_) => return Err("it is not below a directory".to_owned()),
                Err(_) => Permissions::from_mode(0o755),
            };
            if !here.is_dir() {
                let made = fs::create_dir(&here).and_then(|()| fs::set_permissions(&here, mode));
                made.map_err(|error| error.to_string())?;
            }
        }
        let there = fs::symlink_metadata(tree.join(path));
        if there.as_ref().is_ok_and(|there| there.is_dir()) {
            return Err("it is a directory".to_owned());
        }
        let here = self.files().join(path);
        let put = match content {
            FileContent::Nothing if there.is_err() => Ok(()),
            FileContent::Nothing => {
                return in_words(take_out([path].into_iter(), &self.files()));
            }
            FileContent::File { .. } | FileContent::Link(_) => write_content(&here, content),
        };
        put.map_err(|error| error.to_string())
    }

    fn files(&self) -> PathBuf {
        self.0.join("files")
    }

    /// Returns the place for what one of the programs that run at once writes: two mounts with the same place would spoil it.
    fn writes(&self, slot: usize) -> PathBuf {
        self.0.join(format!("writes-{slot}"))
    }

    /// Returns the directory of what such a program writes.
    pub(super) fn written(&self, slot: usize) -> PathBuf {
        self.writes(slot).join("upper")
    }

    /// Returns the mounts of the layer for such a program, for a `root` at which `tree` is mounted, with these other mounts in it:
    /// the layer covers them, so they are mounted on it once more.
    pub(super) fn mounts(&self, slot: usize, root: &Path, tree: &Path, inside: &[Mount]) -> Vec<Mount> {
        let layer = Mount {
            directory: self.files(),
            at: root.to_owned(),
            writes: MountWrites::Beside(self.writes(slot)),
        };
        let again = inside.iter().filter_map(|mount| {
            Some(Mount {
                directory: mount.at.clone(),
                at: root.join(mount.at.strip_prefix(tree).ok()?),
                writes: MountWrites::Here,
            })
        });
        [layer].into_iter().chain(again).collect()
    }
}
