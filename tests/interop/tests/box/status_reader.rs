//! Both pages for people who have a keyboard and no mouse, or hear what is on them, or see little.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::time::Duration;

use interop::{Browser, Kind, OpenPage, Server, Setup, free_port, wait_for};
use serde_json::{Value, json};

const BOUND: Duration = Duration::from_secs(60);

/// The texts whose colour is too near to what is behind them, as WCAG 2.2 AA counts it.
const TOO_FAINT: &str = r#"(() => {
  const parse = (text) => { const [r, g, b, a] = text.match(/[\d.]+/g).map(Number); return [r, g, b, a === undefined ? 1 : a]; };
  const over = ([r, g, b, a], [x, y, z]) => [r * a + x * (1 - a), g * a + y * (1 - a), b * a + z * (1 - a), 1];
  const behind = (it) => { const own = it ? parse(getComputedStyle(it).backgroundColor) : [255, 255, 255, 1]; return own[3] === 1 ? own : over(own, behind(it.parentElement)); };
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
  const faint = [];
  for (const it of document.querySelectorAll("body *")) {
    const text = [...it.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join("");
    if (!text || it.closest("[hidden], script, style, .skip, .unseen") || !it.getClientRects().length) continue;
    const style = getComputedStyle(it), ground = behind(it), ink = light(over(parse(style.color), ground)), back = light(ground);
    const ratio = (Math.max(ink, back) + .05) / (Math.min(ink, back) + .05), large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) faint.push(`${text}: ${ratio.toFixed(2)}`);
  }
  return faint;
})()"#;
/// What has the focus, in words.
const FOCUSED: &str = "(() => { const it = document.activeElement; \
    return [it.tagName, it.textContent.trim() || it.id]; })()";

fn until_shown(page: &mut OpenPage) {
    wait_for("the page", BOUND, || {
        (page.value("!document.getElementById('cards').hidden") == true).then_some(())
    });
}

/// Goes through the page by the keyboard until it leaves it; where it came by.
fn walk(page: &mut OpenPage) -> Vec<[String; 2]> {
    let mut stops = Vec::new();
    for _ in 0..20 {
        page.press("Tab", 9);
        let stop: [String; 2] = serde_json::from_value(page.value(FOCUSED)).unwrap();
        if stop[0] == "BODY" || stops.first() == Some(&stop) {
            return stops;
        }
        // Who sees it sees where it is.
        let outline = page.value("getComputedStyle(document.activeElement).outlineStyle");
        assert_ne!(outline, "none", "{stop:?}");
        stops.push(stop);
    }
    panic!("it does not end: {stops:?}");
}

/// Headings begin with one of level 1 and leave none out; whatever is used has a name.
fn reads_well(read: &[(String, String)]) {
    let mut last = 0;
    for (role, name) in read {
        if let Some(level) = role.strip_prefix("heading ") {
            let level: u32 = level.parse().unwrap();
            assert!(level <= last + 1, "{name} after level {last}: {read:?}");
            last = level;
        }
        let is_used = matches!(
            role.as_str(),
            "link" | "button" | "image" | "searchbox" | "checkbox" | "region" | "heading"
        );
        assert!(
            !is_used || !name.is_empty(),
            "{role} without a name: {read:?}"
        );
    }
    let ones = read.iter().filter(|(role, _)| role == "heading 1");
    assert_eq!(ones.count(), 1, "{read:?}");
    let states = read.iter().filter(|(role, _)| role == "status");
    assert_eq!(states.count(), 1, "{read:?}");
}

fn is_clear(page: &mut OpenPage) {
    for scheme in ["light", "dark"] {
        let wanted = json!({ "features": [ { "name": "prefers-color-scheme", "value": scheme } ] });
        page.ask("Emulation.setEmulatedMedia", &wanted);
        assert_eq!(page.value(TOO_FAINT), Value::Array(Vec::new()), "{scheme}");
    }
}

#[test]
fn the_page_of_a_box_is_read_and_walked_through() {
    let http = format!("127.0.0.1:{}", free_port());
    let gone = free_port();
    let _server = Server::start(
        Kind::Leaf,
        &Setup::config(&format!(
            "server_name: bakery-12\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\n\
             jetstream {{ store_dir: \"$DIR/js\" }}\n\
             leafnodes {{ remotes: [ {{ url: \"nats://127.0.0.1:{gone}\" }} ] }}\n"
        )),
    );
    let browser = Browser::default();
    let mut page = browser.open(&format!("http://{http}/status"));
    until_shown(&mut page);
    let aloud = "document.getElementById('aloud').textContent";
    wait_for("what is wrong to be read aloud", BOUND, || {
        let said = page.value(aloud);
        said.as_str()?.contains("Nobody answers at").then_some(())
    });
    let read = page.read_out();
    reads_well(&read);
    let has = |role: &str, name: &str| {
        let found = read
            .iter()
            .any(|(is, called)| is == role && called.contains(name));
        assert!(found, "no {role} {name:?} in {read:?}");
    };
    has("heading 1", "bakery-12");
    has("heading 2", "The line is down");
    has("heading 3", "Nobody answers at");
    has("region", "Line to the head office");
    has("main", "");
    has("link", "All numbers");
    // One region is told when it changes, and one sentence of what is wrong.
    let live = page.value("document.querySelectorAll('[aria-live]').length");
    assert_eq!(live, 2);
    is_clear(&mut page);
    let stops = walk(&mut page);
    let words: Vec<_> = stops.iter().map(|[_, words]| words.as_str()).collect();
    assert_eq!(words, ["Skip to the state of this box", "All numbers"]);
}

#[test]
fn the_page_of_a_fleet_is_read_and_walked_through() {
    let http = format!("127.0.0.1:{}", free_port());
    let hub = Server::start(
        Kind::Hub,
        &Setup::config(&format!(
            "server_name: hub\nlisten: \"127.0.0.1:-1\"\nhttp: \"{http}\"\n\
             jetstream {{ store_dir: \"$DIR/js\" }}\nfleet {{}}\n"
        )),
    );
    wait_for("the fleet", BOUND, || {
        hub.log().contains("boxes are known").then_some(())
    });
    let browser = Browser::default();
    let mut page = browser.open(&format!("http://{http}/fleet"));
    until_shown(&mut page);
    reads_well(&page.read_out());
    is_clear(&mut page);
    let tags: Vec<_> = walk(&mut page).into_iter().map(|[tag, _]| tag).collect();
    assert_eq!(tags, ["A", "INPUT", "INPUT"]);
}
