//! What boxes and servers say of themselves goes to terminals, logs and pages: only what can be
//! read of it, and not without end.

use serde_json::Value;

use crate::limits::WORD_CHARS_MAX;

/// Without what would move a cursor, begin a line or turn the direction of writing.
pub(crate) fn clean(text: &str) -> String {
    let is_odd = |it: char| {
        it.is_control()
            || matches!(it, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let shown = text.chars().map(|it| if is_odd(it) { ' ' } else { it });
    shown.take(WORD_CHARS_MAX).collect()
}

/// The same for every text in it.
pub(crate) fn clean_all(value: &mut Value) {
    match value {
        Value::String(text) => *text = clean(text),
        Value::Array(all) => {
            all.truncate(crate::limits::LIST_MAX);
            all.iter_mut().for_each(clean_all);
        }
        Value::Object(all) => all.values_mut().for_each(clean_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Whether it is a name that a box can have.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    (1..=64).contains(&name.len()) && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_a_terminal_obeys_is_left() {
        let said = "\u{1b}]0;owned\u{7}\u{1b}[2Ja\r\nforged \u{202e}line";
        let shown = clean(said);
        assert!(
            shown.contains("forged") && !shown.chars().any(char::is_control),
            "{shown}"
        );
        assert!(!shown.contains('\u{202e}'));
        assert_eq!(clean(&"x".repeat(10_000)).len(), WORD_CHARS_MAX);
        let mut value = serde_json::json!({ "a": ["b\u{1b}", { "c": "d\n" }], "e": 1 });
        clean_all(&mut value);
        assert_eq!(
            value,
            serde_json::json!({ "a": ["b ", { "c": "d " }], "e": 1 })
        );
        assert!(is_name("till-7") && !is_name("") && !is_name("a.b") && !is_name("\u{1b}[2J"));
    }
}
