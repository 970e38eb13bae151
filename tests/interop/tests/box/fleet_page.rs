//! The fleet page of a hub: in a browser, and who may see it.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests fail by panicking, and write files"
)]

use std::process::Command;
use std::time::Duration;

use interop::{Browser, Kind, Server, Setup, free_port, http_get, http_say, run, wait_for};
use serde_json::{Value, json};

use crate::fleet::Fleet;
use crate::sim_boxes::{Nature, Natures, SimBoxes};

const BOUND: Duration = Duration::from_secs(60);
const DESK: (u32, u32) = (1100, 1500);
const PHONE: (u32, u32) = (500, 2200);
const COUNT: usize = 30;

struct House {
    hub: Server,
    http: String,
    boxes: SimBoxes,
}

impl House {
    async fn open(natures: Natures) -> Self {
        let http = format!("127.0.0.1:{}", free_port());
        let config = format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n\
             fleet {{}}\n"
        );
        let hub = Server::start(Kind::Hub, &Setup::config(&config));
        wait_for("the buckets", BOUND, || {
            hub.log().contains("fleet: 0 boxes are known").then_some(())
        });
        let boxes = SimBoxes::open(&hub, COUNT, natures).await;
        let house = Self { hub, http, boxes };
        house.until("all boxes", |it| {
            it["boxes"].as_array().unwrap().len() == COUNT
        });
        house
    }

    fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) {
        wait_for(what, BOUND, || {
            let (code, body) = http_get(&self.http, "/fleet.json");
            assert_eq!(code, 200, "{body}");
            let fleet: Value = serde_json::from_str(&body).unwrap();
            (fleet["boxes"].is_array() && is_so(&fleet)).then_some(())
        });
    }

    fn rollout(&self, words: &[&str]) {
        let path = self.hub.dir().join("7.frond");
        std::fs::write(&path, Fleet::new().bundle(7, "")).unwrap();
        let mut command = Command::new(Kind::Hub.binary());
        command
            .args(["fleet", "rollout", "--detach"])
            .arg(&path)
            .args(words);
        let ended = run(command.args(["--server", &self.hub.url()]));
        assert!(ended.status.success(), "{}", ended.text);
    }

    /// Looks at the page, keeps pictures, and gives what a person sees.
    fn looks(&self, name: &str) -> String {
        let browser = Browser::default();
        let url = format!("http://{}/fleet", self.http);
        browser.picture(&url, DESK, &format!("fleet-{name}-desk"));
        browser.picture(&url, PHONE, &format!("fleet-{name}-phone"));
        browser.document(&url)
    }
}

fn shows(page: &str, words: &[&str]) {
    for word in words {
        assert!(page.contains(word), "no {word:?} in {page}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_that_are_well_say_so() {
    let house = House::open(|_, _| Nature::Confirms).await;
    let page = house.looks("online");
    shows(
        &page,
        &[
            "All boxes are well",
            "30 boxes",
            "sim-0029",
            "lamp online",
            "All well",
            "48 °C",
        ],
    );
    let (_, shown) = page.split_once("<main").unwrap();
    let shown = shown.split_once("<script").unwrap().0;
    assert!(
        !shown.contains("undefined") && !shown.contains("NaN"),
        "{shown}"
    );
    let (_, bare) = http_get(&house.http, "/fleet");
    assert!(bare.len() < 100_000, "{}", bare.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn boxes_that_want_care_are_told_with_what_to_do() {
    let house = House::open(|_, _| Nature::Confirms).await;
    let full = json!({ "disk": { "used_bytes": 93, "all_bytes": 100 } });
    let worn = json!({ "wear_percent": 90 });
    let copy = json!({ "instance": "2" });
    for (at, said) in [
        (3, &full),
        (4, &full),
        (5, &worn),
        (6, &copy),
        (6, &json!({})),
    ] {
        house.boxes.say(at, said).await;
    }
    house.until("the alarms", |it| {
        let boxes = it["boxes"].as_array().unwrap();
        boxes
            .iter()
            .filter(|it| it["alarms"][0].is_object())
            .count()
            == 4
    });
    let page = house.looks("fault");
    shows(
        &page,
        &[
            "Something does not work",
            "Two boxes use one name",
            "sim-0006",
            "2 disks are nearly full",
            "sim-0003, sim-0004",
            "A flash is worn",
        ],
    );
}

/// Boxes from the sixth on make up their minds never.
#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_under_way_is_shown_wave_by_wave() {
    let slow: Natures = |at, _| {
        if at < 6 {
            Nature::Confirms
        } else {
            Nature::Tries
        }
    };
    let house = House::open(slow).await;
    house.rollout(&["--bake", "1", "--waves", "1,20%,60%,100%"]);
    house.until("the third wave", |it| {
        it["rollout"]["wave"] == 3 && it["rollout"]["counts"]["pending"] == 12
    });
    let page = house.looks("updating");
    shows(
        &page,
        &[
            "A rollout is under way",
            "Rollout of version 7",
            "aria-current=\"step\"",
            "Wave 3, up to 18 boxes",
            "12 under way",
            "role=\"progressbar\"",
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_stopped_says_why() {
    let bad: Natures = |at, _| {
        if at < 6 {
            Nature::Confirms
        } else {
            Nature::GoesBack
        }
    };
    let house = House::open(bad).await;
    house.rollout(&["--bake", "1", "--waves", "1,20%,60%,100%"]);
    house.until("the stop", |it| it["rollout"]["state"] == "stopped");
    let page = house.looks("stopped");
    shows(
        &page,
        &[
            "Something does not work",
            "It stopped by itself: version 7 failed on",
            "went back to their former configuration",
            "the hub was not reached",
        ],
    );
}

#[test]
fn the_hub_and_its_users_see_it_and_nobody_else() {
    let http = format!("127.0.0.1:{}", free_port());
    let config = |more: &str| {
        format!(
            "listen: \"127.0.0.1:-1\"\nhttp: \"{http}\"\njetstream {{ store_dir: \"$DIR/js\" }}\n\
             accounts {{ BOXES {{ jetstream: enabled, users: [ {{ user: keeper, password: crumb }} ] }}, \
             OTHER {{ users: [ {{ user: other, password: crust }} ] }} }}\n{more}\n"
        )
    };
    let with = config("fleet { user: keeper }");
    let hub = Server::start(Kind::Hub, &Setup::config(&with));
    let code = |host: &str, login: &str, path: &str| {
        let login = match login {
            "" => String::new(),
            login => {
                let login = data_encoding::BASE64.encode(login.as_bytes());
                format!("Authorization: Basic {login}\r\n")
            }
        };
        http_say(
            &http,
            &format!("GET {path} HTTP/1.0\r\nHost: {host}\r\n{login}\r\n"),
        )
        .0
    };
    for (host, login, page, document) in [
        (&*http, "", 200, 200),
        ("hub.example", "", 401, 401),
        ("hub.example", "keeper:crumb", 200, 200),
        ("hub.example", "other:crust", 200, 403),
    ] {
        assert_eq!(code(host, login, "/fleet"), page, "{host} {login}");
        assert_eq!(code(host, login, "/fleet.json"), document, "{host} {login}");
    }
    // Without the block there is nothing, and a reload is enough for that.
    hub.reload(&config(""));
    wait_for("the page to be gone", BOUND, || {
        (code(&http, "", "/fleet") == 404).then_some(())
    });
    hub.reload(&with);
    wait_for("the page to be back", BOUND, || {
        (code(&http, "", "/fleet.json") == 200).then_some(())
    });
}
