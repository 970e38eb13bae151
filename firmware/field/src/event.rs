use crate::reading::{Stamp, finish, quoted, text};

/// An event of the box as JSON: its texts in order, then its stamp.
pub(crate) fn event(texts: &[(&str, &str)], stamp: Stamp) -> Vec<u8> {
    let mut json = Vec::with_capacity(128);
    let mut texts = texts.iter();
    if let Some((name, value)) = texts.next() {
        json.push(b'{');
        quoted(&mut json, name);
        json.push(b':');
        quoted(&mut json, value);
    }
    for (name, value) in texts {
        text(&mut json, name, value);
    }
    finish(json, stamp)
}
