use super::*;
use frond_config::Config;

fn clusters(remotes: &[(&str, &str)], reject_unknown: bool) -> Clusters {
    let mut plan = Plan::configured(&Config::default(), "127.0.0.1".to_owned(), 7222);
    plan.name = "GA".to_owned();
    plan.reject_unknown = reject_unknown;
    plan.remotes = remotes
        .iter()
        .map(|(name, url)| ((*name).to_owned(), Target::told(url).into_iter().collect()))
        .collect();
    Clusters::new(plan)
}

fn urls(text: &str) -> Vec<String> {
    text.split(' ').map(str::to_owned).collect()
}

#[test]
fn only_clusters_that_are_new_and_wanted_are_dialed() {
    let open = clusters(&[("GB", "b:1")], false);
    let news = ["GA", "GB", "", "GC", "GC"].map(|name| open.hear_of(name, &urls("x:1")));
    let expected = [News::Nothing, News::Nothing, News::Nothing, News::New];
    assert_eq!((&news[..4], news[4]), (&expected[..], News::Nothing));
    assert_eq!(open.hear_of("GD", &[]), News::Nothing);
    let strict = clusters(&[("GB", "b:1")], true);
    assert_eq!(strict.hear_of("GC", &urls("x:1")), News::Nothing);
}

#[test]
fn what_a_cluster_tells_of_itself_replaces_what_it_told_and_not_what_is_configured() {
    let clusters = clusters(&[("GB", "b:1")], false);
    clusters.hear_of("GB", &urls("b:2 B:1"));
    assert_eq!(clusters.urls("GB"), ["b:1", "b:2"]);
    clusters.place("GB", &urls("b:3"));
    assert_eq!(clusters.urls("GB"), ["b:1", "b:3"]);
    clusters.place("GB", &[]);
    assert_eq!(clusters.urls("GB"), ["b:1", "b:3"]);
}

#[test]
fn clusters_are_asked_by_their_distance_and_reached_once() {
    let clusters = clusters(&[("GB", "b:1"), ("GC", "c:1")], false);
    assert!(clusters.reach("GB", LinkId(1)) && clusters.reach("GC", LinkId(2)));
    assert!(!clusters.reach("GB", LinkId(3)) && !clusters.reach("GX", LinkId(4)));
    clusters.measure("GB", Duration::from_millis(30));
    clusters.measure("GC", Duration::from_millis(3));
    assert_eq!(clusters.nearest_first(), [LinkId(2), LinkId(1)]);
    clusters.lose("GC", LinkId(9));
    clusters.lose("GC", LinkId(2));
    assert_eq!(clusters.nearest_first(), [LinkId(1)]);
}

#[test]
fn news_of_clusters_take_no_more_than_their_room() {
    let clusters = clusters(&[("GB", "b:1")], false);
    let host = |n: usize| format!("{n}.{}:1", "x".repeat(240));
    for n in 0..20_000 {
        clusters.hear_of(&format!("G{}", n % 1_000), &[host(n)]);
        clusters.place("GB", &[host(n)]);
    }
    let held = |clusters: &Clusters| clusters.0.borrow().news_bytes;
    assert!(held(&clusters) <= NEWS_BYTES_MAX && held(&clusters) > NEWS_BYTES_MAX / 2);
    for n in 0..1_000 {
        clusters.forget(&format!("G{n}"));
    }
    let rest: usize = clusters.urls("GB").iter().map(String::len).sum();
    assert!(held(&clusters) <= rest);
    assert_eq!(clusters.hear_of("GX", &[host(1)]), News::New);
}
