use frond_config::{Nothing, load_text, parse};

/// Any text is read or refused with a place in it, the same each time.
pub fn config(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else {
        return;
    };
    let read = parse(text, "fuzz.conf", &Nothing);
    assert_eq!(
        format!("{read:?}"),
        format!("{:?}", parse(text, "fuzz.conf", &Nothing))
    );
    let loaded = load_text(text, "fuzz.conf", &Nothing);
    if let Err(error) = read {
        assert!(error.to_string().contains("fuzz.conf"), "{error}");
        assert!(loaded.is_err(), "what can't be read can't be loaded");
    }
}
