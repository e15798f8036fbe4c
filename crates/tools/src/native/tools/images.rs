//! Images for the model: which files are images, and their content.

use std::path::{Path, PathBuf};

use base64::{Engine, engine::general_purpose::STANDARD};
use ralph_core::event::clip;
use ralph_system::files;
use serde_json::Value;

use crate::native::message::Image;

/// Most bytes of an image: in Base64 they are the 5 MB that an API takes.
const IMAGE_CAP_BYTES: u64 = 3_750_000;
/// The formats that every API takes: the endings of their files, the media type, and the bytes that begin them, with
/// their place.
const FORMATS: [(&[&str], &str, usize, &[u8]); 4] = [
    (&["png"], "image/png", 0, b"\x89PNG\r\n"),
    (&["jpg", "jpeg"], "image/jpeg", 0, b"\xff\xd8\xff"),
    (&["gif"], "image/gif", 0, b"GIF8"),
    (&["webp"], "image/webp", 8, b"WEBP"),
];
/// Most images that one prompt names.
const NAMED_CAP: usize = 4;

/// Whether a file is an image by its name.
pub(super) fn is_image(path: &Path) -> bool {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    ending.is_some_and(|ending| FORMATS.iter().any(|(endings, ..)| endings.contains(&ending.as_str())))
}

/// Loads the image in a file, with a line about it.
///
/// # Errors
/// The reason why there is none, as a message for the model.
pub(in crate::native) fn load(path: &Path) -> Result<(Image, String), String> {
    let shown = path.display();
    let bytes = files::read_bytes(path, IMAGE_CAP_BYTES).map_err(|error| match error.is_missing() {
        true => format!("{shown}: there is no such file; `glob` finds files"),
        false => format!("{shown}: {error}"),
    })?;
    let has_start =
        |(_, _, at, start): &&(_, _, usize, &[u8])| bytes.get(*at..).is_some_and(|rest| rest.starts_with(start));
    let Some((_, media_type, ..)) = FORMATS.iter().find(has_start) else {
        return Err(format!("{shown}: it is no image in the format PNG, JPEG, GIF or WebP"));
    };
    let line = format!("[{media_type}, {} KiB]", bytes.len().div_ceil(1024));
    let image = Image {
        media_type: (*media_type).to_owned(),
        data: STANDARD.encode(bytes),
    };
    Ok((image, line))
}

/// The image in a content block of the protocols for clients and servers; `None` if no API takes it.
pub(in crate::native) fn image_from(content: &Value) -> Option<Image> {
    let media_type = content["mimeType"].as_str()?;
    let data = content["data"].as_str()?;
    let is_known = FORMATS.iter().any(|(_, known, ..)| *known == media_type);
    // Four characters of Base64 are three bytes.
    let fits = data.len() as u64 / 4 * 3 <= IMAGE_CAP_BYTES;
    (is_known && fits).then(|| Image {
        media_type: media_type.to_owned(),
        data: data.to_owned(),
    })
}

/// The images of `project` that a prompt names, each once.
pub(in crate::native) fn named(prompt: &str, project: &Path) -> Vec<String> {
    let is_delimiter = |character: char| character.is_whitespace() || "\"'`()<>[]{}|,;".contains(character);
    let mut found: Vec<String> = Vec::new();
    for word in prompt.split(is_delimiter) {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let word = word.strip_prefix("file://").unwrap_or(word);
        let path: PathBuf = project.join(word);
        if is_image(&path) && path.is_file() && !found.iter().any(|known| known == word) {
            found.push(clip(word, 4096));
        }
        if found.len() == NAMED_CAP {
            break;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn an_image_is_known_by_its_bytes_and_a_large_one_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let load = |name: &str, bytes: &[u8]| {
            let path = directory.path().join(name);
            fs::write(&path, bytes).unwrap();
            load(&path)
        };
        for (name, bytes, media_type) in [
            ("a.png", &b"\x89PNG\r\n\x1a\nrest"[..], "image/png"),
            ("b.png", b"\xff\xd8\xff\xe0rest", "image/jpeg"),
            ("c.GIF", b"GIF89a", "image/gif"),
            ("d.webp", b"RIFF0000WEBPVP8 ", "image/webp"),
        ] {
            let (image, line) = load(name, bytes).unwrap();
            assert_eq!(
                (image.media_type.as_str(), line),
                (media_type, format!("[{media_type}, 1 KiB]"))
            );
            assert_eq!(STANDARD.decode(image.data).unwrap(), bytes);
        }
        assert!(load("e.png", b"<svg>").unwrap_err().contains("no image in the format"));
        assert!(load("f.png", b"").is_err());
        let mut large = b"\x89PNG\r\n".to_vec();
        large.resize(4_000_000, 0);
        assert!(load("g.png", &large).unwrap_err().contains("g.png"));
        assert!(
            super::load(&directory.path().join("none.png"))
                .unwrap_err()
                .contains("no such file")
        );
    }

    #[test]
    fn a_prompt_names_the_images_that_exist() {
        let directory = tempfile::tempdir().unwrap();
        let at = directory.path();
        fs::create_dir(at.join("docs")).unwrap();
        for name in ["docs/mock.png", "b.JPG", "c.txt"] {
            fs::write(at.join(name), "x").unwrap();
        }
        let prompt =
            "Make it like ![this](docs/mock.png), then `b.JPG`: see docs/mock.png. Not gone.png, c.txt or docs.";
        assert_eq!(named(prompt, at), ["docs/mock.png", "b.JPG"]);
        assert_eq!(named("nothing", at), [] as [&str; 0]);
    }
}
