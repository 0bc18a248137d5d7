//! The program against a collector on this machine's loopback device.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on shall say where")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::thread::JoinHandle;

use serde_json::Value;

/// The first line, the head, and the body.
type Request = (String, String, Value);

/// Answers with each status in turn, and returns the requests: the path, the headers, the body.
fn collector(answers: &'static [(u16, &'static str)]) -> (String, JoinHandle<Vec<Request>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}/v1/logs", listener.local_addr().unwrap());
    let serving = std::thread::spawn(move || {
        let serve = |(status, answer): &(u16, &str)| {
            let (stream, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                reader.read_line(&mut head).unwrap();
            }
            let head = head.to_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap();
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let response = format!(
                "HTTP/1.1 {status} Whatever\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
                answer.len()
            );
            reader.get_mut().write_all(response.as_bytes()).unwrap();
            let first = head.lines().next().unwrap().to_owned();
            (first, head, serde_json::from_slice(&body).unwrap())
        };
        answers.iter().map(serve).collect()
    });
    (endpoint, serving)
}

fn sent(place: &Path, endpoint: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_blastradius-otlp"))
        .args(["--once", "--host", "machine", "--header", "x-token=secret", "--endpoint", endpoint])
        .env_clear()
        .env("XDG_STATE_HOME", place.join("state"))
        .env("XDG_CACHE_HOME", place.join("cache"))
        .output()
        .unwrap()
}

fn line(event: &str, more: &str) -> String {
    format!(
        "{{\"v\":1,\"time\":\"2026-01-02T03:04:05.678Z\",\"session\":\"s1\",\"event\":\"{event}\"{more}}}\n"
    )
}

fn log(place: &Path, name: &str, lines: &[String]) {
    let directory = place.join("state/blastradius");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join(name), lines.concat()).unwrap();
}

fn records(body: &Value) -> Vec<String> {
    let records = body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap();
    records.iter().map(|one| one["body"]["stringValue"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn each_record_is_sent_once_and_what_comes_later_is_sent_later() {
    let place = tempfile::tempdir().unwrap();
    let refused = line("refused", r#","rule":"floor-path","resolved":"/home""#);
    log(place.path(), "s1.jsonl", &[line("start", ""), refused.clone()]);
    let (endpoint, serving) = collector(&[(200, "{}"), (200, "{}")]);
    assert!(sent(place.path(), &endpoint).status.success());
    // Nothing is new: nobody is asked, or the collector below would get it.
    assert!(sent(place.path(), &endpoint).status.success());
    log(place.path(), "s1.jsonl", &[line("start", ""), refused, line("end", "")]);
    assert!(sent(place.path(), &endpoint).status.success());

    let requests = serving.join().unwrap();
    let (first, head, body) = &requests[0];
    assert!(first.starts_with("post /v1/logs "), "{first}");
    assert!(head.contains("content-type: application/json") && head.contains("x-token: secret"), "{head}");
    assert_eq!(records(body), ["start", "refused: floor-path: /home"]);
    let resource = &body["resourceLogs"][0]["resource"]["attributes"];
    assert_eq!(resource[0]["value"]["stringValue"], "blastradius");
    assert_eq!(resource[1]["value"]["stringValue"], "machine");
    assert_eq!(records(&requests[1].2), ["end"]);
}

#[test]
fn what_a_collector_does_not_take_is_sent_again() {
    let place = tempfile::tempdir().unwrap();
    log(place.path(), "s1.jsonl", &[line("start", "")]);
    let (endpoint, serving) = collector(&[(503, "busy"), (200, "{}")]);
    let failed = sent(place.path(), &endpoint);
    assert!(!failed.status.success());
    assert!(String::from_utf8_lossy(&failed.stderr).contains("status 503: busy"));
    assert!(sent(place.path(), &endpoint).status.success());
    let requests = serving.join().unwrap();
    assert_eq!(records(&requests[0].2), records(&requests[1].2));
}

#[test]
fn bad_lines_and_rejected_records_stop_nothing() {
    let place = tempfile::tempdir().unwrap();
    log(place.path(), "s1.jsonl", &["no record\n".into(), line("start", "")]);
    let (endpoint, serving) =
        collector(&[(200, r#"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}"#)]);
    let output = sent(place.path(), &endpoint);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("left out") && said.contains("1 records: too old"), "{said}");
    assert_eq!(records(&serving.join().unwrap()[0].2), ["start"]);
}

#[test]
fn without_a_collector_it_says_so_and_keeps_its_place() {
    let place = tempfile::tempdir().unwrap();
    log(place.path(), "s1.jsonl", &[line("start", "")]);
    // A port that was free a moment ago.
    let endpoint =
        format!("http://{}/v1/logs", TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap());
    let output = sent(place.path(), &endpoint);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains(&endpoint));
    assert!(!place.path().join("cache/blastradius/otlp-cursor.json").exists());
}
