use std::cell::Cell;

use frond_config::{Source, load};
use frond_ota::Bundle;

/// What is wrong with a configuration before it is signed, as far as that is known away from the
/// boxes: files and variables of theirs are not here.
///
/// # Errors
/// Each mistake, with file, line and column.
pub(super) fn check(bundle: &Bundle, name: &str) -> Result<Checked, String> {
    let draft = Draft {
        name,
        bundle,
        is_partial: Cell::new(false),
    };
    match (load(name, &draft), draft.is_partial.get()) {
        (Ok(_), false) => Ok(Checked::Whole),
        (_, true) => Ok(Checked::Partly),
        (Err(errors), false) => Err(errors.to_string()),
    }
}

/// How far a configuration could be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Checked {
    Whole,
    /// It names what only the boxes have.
    Partly,
}

struct Draft<'a> {
    name: &'a str,
    bundle: &'a Bundle,
    is_partial: Cell<bool>,
}

impl Source for Draft<'_> {
    fn read(&self, path: &str) -> Result<String, String> {
        if path == self.name {
            return Ok(self.bundle.config.clone());
        }
        let mut files = self.bundle.files.iter();
        let file = files.find(|(name, _)| path.rsplit('/').next() == Some(name));
        Ok(file.map_or_else(
            || {
                self.is_partial.set(true);
                String::new()
            },
            |(_, text)| text.clone(),
        ))
    }

    fn env(&self, _name: &str) -> Option<String> {
        self.is_partial.set(true);
        Some("unknown".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_box_would_take_is_found_before_it_is_signed() {
        let bundle = |config: &str| Bundle {
            version: 1,
            issued_s: 1,
            expires_s: 2,
            targets: Vec::new(),
            downgrade_from: None,
            new_floor: None,
            window_s: None,
            by: String::new(),
            note: String::new(),
            config: config.to_owned(),
            files: vec![("users.conf".to_owned(), "max_payload: 1KB\n".to_owned())],
        };
        for (config, checked) in [
            ("port: 4222\n", Checked::Whole),
            ("include users.conf\n", Checked::Whole),
            ("include ./secrets.conf\n", Checked::Partly),
            ("port: $PORT\n", Checked::Partly),
        ] {
            assert_eq!(check(&bundle(config), "new.conf"), Ok(checked), "{config}");
        }
        let said = check(&bundle("port: 4222\nfoo: bar\n"), "new.conf").unwrap_err();
        assert!(said.contains("new.conf:2:1"), "{said}");
    }
}
