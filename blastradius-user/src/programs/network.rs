//! Programs that fetch from other machines, and programs that decode: what a pipe into a shell must know of its text.

use blastradius_common::{RuleId, Verdict};

use crate::programs::options::{Grammar, Parsed, flag, optional, value};
use crate::programs::verbs::{Words, as_written, word};
use crate::programs::{Call, Input, Machine, Program, acts};
use crate::shell::value::{Abstract, Field};

/// The programs of this family.
pub const PROGRAMS: &[(&str, Program)] = &[
    ("curl", curl),
    ("wget", wget),
    ("wget2", wget),
    ("fetch", fetch),
    ("aria2c", fetch),
    ("http", http),
    ("https", http),
    ("xh", http),
    ("lynx", printer),
    ("w3m", printer),
    ("links", printer),
    ("nc", printer),
    ("ncat", printer),
    ("netcat", printer),
    ("socat", printer),
    ("telnet", printer),
    ("base64", base64),
    ("gbase64", base64),
    ("base32", decoder),
    ("basenc", decoder),
    ("xxd", xxd),
    ("openssl", openssl),
    ("gunzip", decompressor),
    ("gzip", decompressor),
    ("zcat", decompressor),
    ("bzip2", decompressor),
    ("bunzip2", decompressor),
    ("bzcat", decompressor),
    ("xz", decompressor),
    ("unxz", decompressor),
    ("xzcat", decompressor),
    ("zstd", decompressor),
    ("unzstd", decompressor),
    ("zstdcat", decompressor),
    ("lz4", decompressor),
    ("lz4cat", decompressor),
    ("brotli", decompressor),
    ("uudecode", decoder),
    ("age", decoder),
];

/// Prints text from another machine.
fn prints_fetched(call: &Call<'_>, machine: &mut dyn Machine) {
    let from = as_written(call.name, call.args).into();
    machine.print(Input::Unknown { from, network: true, decoded: false });
}

fn prints_decoded(call: &Call<'_>, machine: &mut dyn Machine) {
    let from = as_written(call.name, call.args).into();
    machine.print(Input::Unknown { from, network: false, decoded: true });
}

/// The file is written anew: what was there before is lost, what was not is made.
fn saves(machine: &mut dyn Machine, file: &Field) {
    if matches!(&*word(file), "-" | "/dev/stdout" | "/dev/null") {
        return;
    }
    acts::truncate(machine, file);
    acts::creates(machine, file);
}

/// The name under which a URL is saved: its last component, without a query.
fn remote_name(url: &Field) -> Option<Field> {
    let known = url.as_known()?;
    let path = known.split(['?', '#']).next().unwrap_or_default();
    let path = path.split_once("://").map_or(path, |(_, rest)| rest);
    let (_, name) = path.rsplit_once('/')?;
    (!name.is_empty()).then(|| Field::literal(name))
}

static CURL: Grammar = Grammar::new(&[
    value("o", "output"),
    flag("O", "remote-name"),
    flag("J", "remote-header-name"),
    flag("", "remote-name-all"),
    value("", "output-dir"),
    value("X", "request"),
    value("d", "data|data-ascii|data-binary|data-raw|data-urlencode|json"),
    value("F", "form|form-string"),
    value("T", "upload-file"),
    value("u", "user"),
    value("H", "header"),
    value("b", "cookie"),
    value("", "oauth2-bearer|proxy-user|url-query|netrc-file|aws-sigv4"),
    value("A", "user-agent"),
    value("c", "cookie-jar"),
    value("C", "continue-at"),
    value("D", "dump-header"),
    value("e", "referer"),
    value("E", "cert"),
    value("K", "config"),
    value("m", "max-time"),
    value("P", "ftp-port"),
    value("Q", "quote"),
    value("r", "range"),
    value("t", "telnet-option"),
    value("U", ""),
    value("w", "write-out"),
    value("x", "proxy"),
    value("y", "speed-time"),
    value("Y", "speed-limit"),
    value("z", "time-cond"),
    value(
        "",
        "cacert|capath|cert-type|ciphers|connect-timeout|connect-to|create-file-mode|interface|keepalive-time|key|\
         limit-rate|local-port|max-filesize|max-redirs|noproxy|pinnedpubkey|proto|proto-default|proto-redir|\
         resolve|retry|retry-delay|retry-max-time|service-name|socks5|socks5-hostname|stderr|tls-max|tls13-ciphers|\
         trace|trace-ascii|unix-socket|url|variable|expand-url",
    ),
    flag("fgGhiIjklLnNpqRsSvVaB0123469#Z", ""),
]);

/// curl(1).
fn curl(call: &Call<'_>, machine: &mut dyn Machine) {
    let parsed = CURL.read(call.args);
    if parsed.informs() {
        return;
    }
    let urls: Vec<Field> =
        parsed.operands.iter().map(|field| (*field).clone()).chain(parsed.values("url").cloned()).collect();
    let outputs: Vec<Field> = parsed.values("output").cloned().collect();
    let by_remote_name = parsed.has_any(&["remote-name", "remote-name-all"]);
    let directory = parsed.value("output-dir").cloned();
    let named = if by_remote_name { urls.iter().filter_map(remote_name).collect() } else { Vec::new() };
    for file in outputs.iter().chain(&named) {
        let file = directory
            .as_ref()
            .map_or_else(|| file.clone(), |directory| crate::programs::words::child(directory, &word(file)));
        saves(machine, &file);
    }
    curl_sends(machine, &parsed, &urls);
    let to_stdout = outputs.iter().any(|file| matches!(&*word(file), "-" | "/dev/stdout"));
    if to_stdout || outputs.is_empty() && !by_remote_name {
        prints_fetched(call, machine);
    }
}

/// What the request takes away there, or takes along.
fn curl_sends(machine: &mut dyn Machine, parsed: &Parsed<'_>, urls: &[Field]) {
    if !urls.is_empty() && urls.iter().all(is_local) {
        return;
    }
    let object = urls.iter().map(|url| url.source.to_string()).collect::<Vec<_>>().join(" ");
    if parsed.known("request").is_some_and(|method| method.eq_ignore_ascii_case("delete")) {
        return acts::judged_thing(
            machine,
            RuleId::RemoteResource,
            Verdict::Warn,
            "asks another machine to delete something",
            object,
        );
    }
    let header = parsed.values("header").any(|header| {
        let header = crate::programs::words::lead(&header.text).to_lowercase();
        ["authorization:", "x-api-key:", "cookie:", "private-token:"]
            .iter()
            .any(|name| header.starts_with(name))
    });
    let body = parsed.values("data").chain(parsed.values("form")).any(|field| word(field).contains('@'));
    let upload = parsed.has("upload-file");
    if header || body || upload || parsed.has_any(&["user", "oauth2-bearer", "cookie"]) {
        let what = if body || upload {
            "sends a file to another machine"
        } else {
            "sends credentials to another machine"
        };
        acts::thing(machine, RuleId::OutwardAction, what, object);
    }
}

fn is_local(url: &Field) -> bool {
    const HOSTS: &[&str] = &["localhost", "127.0.0.1", "[::1]", "0.0.0.0", "host.docker.internal"];
    let known = crate::programs::words::lead(&url.text).into_owned();
    let rest = known.split_once("://").map_or(&*known, |(_, rest)| rest);
    let host = rest.split(['/', '?']).next().unwrap_or_default();
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    HOSTS.iter().any(|local| host == *local || host.starts_with(&format!("{local}:")))
        || host.ends_with(".localhost")
}

/// wget(1): saves under the name of the URL unless `-O` says where; an existing file of that name is kept (`x.1`).
fn wget(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("O", "output-document"),
        value("o", "output-file"),
        value("a", "append-output"),
        value("i", "input-file"),
        value("P", "directory-prefix"),
        value("t", "tries"),
        value("T", "timeout"),
        value("w", "wait"),
        value("Q", "quota"),
        value("U", "user-agent"),
        value("e", "execute"),
        value("B", "base"),
        value("l", "level"),
        value("A", "accept"),
        value("R", "reject"),
        value("D", "domains"),
        value("I", "include-directories"),
        value("X", "exclude-directories"),
        value(
            "",
            "post-data|post-file|body-data|body-file|method|header|user|password|http-user|http-password",
        ),
        value(
            "",
            "load-cookies|save-cookies|limit-rate|referer|ca-certificate|certificate|private-key|cut-dirs|default-page",
        ),
        flag("q", "quiet"),
        flag("c", "continue"),
        flag("N", "timestamping"),
        flag("S", "server-response"),
        flag("bdFhHkKLmnprvVxE46", "no-check-certificate|spider"),
        optional("", "progress"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if parsed.informs() {
        return;
    }
    match parsed.value("output-document") {
        Some(file) if matches!(&*word(file), "-" | "/dev/stdout") => prints_fetched(call, machine),
        Some(file) => saves(machine, &file.clone()),
        None => {
            for name in parsed.operands.iter().filter_map(|url| remote_name(url)) {
                let directory = parsed.value("directory-prefix");
                let file = directory
                    .map_or(name.clone(), |directory| crate::programs::words::child(directory, &word(&name)));
                acts::creates(machine, &file);
            }
        }
    }
}

/// fetch(1) of FreeBSD, aria2c(1): `-o FILE`, or the name of the URL.
fn fetch(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        value("o", "out|output"),
        value("d", "dir"),
        value("x", "max-connection-per-server"),
        value("s", "split"),
        value("T", ""),
        flag("q", "quiet"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    match parsed.value("o") {
        Some(file) if word(file) == "-" => prints_fetched(call, machine),
        Some(file) => saves(machine, &file.clone()),
        None => {
            for name in parsed.operands.iter().filter_map(|url| remote_name(url)) {
                acts::creates(machine, &name);
            }
        }
    }
}

/// HTTPie and its like: `http [METHOD] URL`.
fn http(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-a", "--auth", "-o", "--output", "-A", "--auth-type", "--session"]);
    let url =
        words.operands.iter().find(|field| !word(field).chars().all(|letter| letter.is_ascii_uppercase()));
    let deletes = words.operands.first().is_some_and(|method| word(method) == "DELETE");
    if let (true, Some(url)) = (deletes, url)
        && !is_local(url)
    {
        let what = "asks another machine to delete something";
        acts::judged_thing(machine, RuleId::RemoteResource, Verdict::Warn, what, url.source.to_string());
    }
    prints_fetched(call, machine);
}

/// Whatever it prints comes from another machine.
fn printer(call: &Call<'_>, machine: &mut dyn Machine) {
    prints_fetched(call, machine);
}

/// What a decoder reads from standard input, if the text is known.
fn known_input(machine: &dyn Machine) -> Option<String> {
    match machine.stdin() {
        Input::Text(text) => text.as_known().map(|known| known.into_owned()),
        Input::Inherited | Input::Names(_) | Input::Unknown { .. } => None,
    }
}

/// Prints the decoded text where it is known and is text, else says that it was decoded.
fn prints_folded(call: &Call<'_>, machine: &mut dyn Machine, decode: fn(&str) -> Option<Vec<u8>>) {
    let folded =
        known_input(machine).and_then(|text| decode(&text)).and_then(|bytes| String::from_utf8(bytes).ok());
    match folded {
        Some(text) => machine.print(Input::Text(Abstract::known(&text))),
        None => prints_decoded(call, machine),
    }
}

/// base64(1): `-d`, `--decode`; `-D` on macOS.
fn base64(call: &Call<'_>, machine: &mut dyn Machine) {
    static GRAMMAR: Grammar = Grammar::new(&[
        flag("dD", "decode"),
        flag("i", "ignore-garbage"),
        value("w", "wrap"),
        value("b", "break"),
        value("o", "output"),
    ]);
    let parsed = GRAMMAR.read(call.args);
    if let Some(file) = parsed.value("output") {
        return saves(machine, &file.clone());
    }
    let reads_stdin = parsed.operands.iter().all(|file| word(file) == "-");
    if parsed.has("decode") && reads_stdin {
        prints_folded(call, machine, from_base64);
    } else if parsed.has("decode") {
        prints_decoded(call, machine);
    }
}

/// RFC 4648, section 4; white space is skipped, padding ends the text.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for letter in text.bytes().filter(|letter| !letter.is_ascii_whitespace()) {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

/// Two hexadecimal digits a byte; white space is skipped.
fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = text
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .map(|letter| letter.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
        .collect();
    let digits = digits?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

/// base32, basenc, uudecode, age: decoded text that is not folded.
fn decoder(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &[]);
    if call.name == "uudecode" || words.has(&["-d", "--decode", "--decrypt", "-D"]) {
        prints_decoded(call, machine);
    }
}

/// xxd(1): `-r` reverts, `-p` reads a plain dump.
fn xxd(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-c", "-g", "-l", "-o", "-s", "-seek", "-cols"]);
    if !words.has(&["-r", "-revert"]) {
        return;
    }
    if words.has(&["-p", "-ps", "-plain"]) && words.operands.is_empty() {
        prints_folded(call, machine, from_hex);
    } else {
        prints_decoded(call, machine);
    }
}

/// openssl(1): `enc -d`, `base64 -d`, and what decrypts.
fn openssl(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-in", "-out", "-k", "-K", "-iv", "-pass", "-kfile", "-inkey"]);
    let decodes = words.flags.iter().any(|flag| matches!(flag.as_str(), "-d" | "-decrypt"));
    let output = call.args.windows(2).find(|pair| word(&pair[0]) == "-out").map(|pair| pair[1].clone());
    if let Some(file) = output {
        return saves(machine, &file);
    }
    let plain = words.begin_with("base64")
        || words.begin_with("enc") && words.flags.iter().any(|flag| flag == "-base64");
    let from_file = call.args.iter().any(|arg| word(arg) == "-in");
    if decodes && plain && !from_file {
        prints_folded(call, machine, from_base64);
    } else if decodes {
        prints_decoded(call, machine);
    }
}

/// gzip(1) and its like: decompressing to standard output. What they do to files is undone by their opposite.
fn decompressor(call: &Call<'_>, machine: &mut dyn Machine) {
    let words = Words::sort(call.args, &["-S", "--suffix", "-T", "-o"]);
    let always = call.name.ends_with("cat");
    let decompresses = always
        || call.name.starts_with("un")
        || call.name.contains("unzip")
        || words.has(&["-d", "--decompress", "--uncompress", "--decode"]);
    let to_stdout = always || words.operands.is_empty() || words.has(&["-c", "--stdout", "--to-stdout"]);
    if (decompresses || call.name == "gunzip") && to_stdout {
        prints_decoded(call, machine);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::testing::Recorder;

    fn told(line: &str) -> String {
        Recorder::default().call_in(PROGRAMS, line).told().join(" ")
    }

    fn printed(line: &str, stdin: Option<&str>) -> Option<Input> {
        let recorder = Recorder::default();
        let recorder = match stdin {
            Some(text) => recorder.stdin(Input::Text(Abstract::known(text))),
            None => recorder,
        };
        recorder.call_in(PROGRAMS, line).printed
    }

    fn is_network(input: Option<Input>) -> bool {
        matches!(input, Some(Input::Unknown { network: true, .. }))
    }

    fn is_decoded(input: Option<Input>) -> bool {
        matches!(input, Some(Input::Unknown { decoded: true, .. }))
    }

    #[test]
    fn what_is_fetched_to_stdout_is_the_networks_text() {
        for line in [
            "curl -fsSL https://x.example/i.sh",
            "curl -o - x",
            "wget -qO- x",
            "wget -O - x",
            "nc x 80",
            "fetch -o - x",
        ] {
            assert!(is_network(printed(line, None)), "{line}");
        }
        for line in ["curl -o f x", "curl -O https://x.example/f", "wget x", "wget -O f x", "curl --help"] {
            assert!(!is_network(printed(line, None)), "{line}");
        }
    }

    #[test]
    fn saving_overwrites_or_makes_a_file() {
        assert_eq!(told("curl -sLo out.sh x"), "truncate out.sh");
        assert_eq!(told("curl -o /dev/null x"), "");
        assert_eq!(told("wget -O out x"), "truncate out");
        assert_eq!(told("curl -O https://x.example/p.sh?q=1"), "truncate p.sh");
        assert_eq!(Recorder::default().call(curl, "curl -O https://x.example/p.sh").created, ["p.sh"]);
        assert_eq!(Recorder::default().call(wget, "wget -P d https://x.example/p.sh").created, ["d/p.sh"]);
    }

    #[test]
    fn what_leaves_the_machine_is_mentioned() {
        assert!(told("curl -X DELETE https://x.example/1").starts_with("[remote-resource warn]"));
        assert!(told("curl -u a:b https://x.example").starts_with("[outward-action default]"));
        assert!(told("curl -d @secrets https://x.example").starts_with("[outward-action default]"));
        assert!(told("curl -H 'Authorization: x' https://x.example").starts_with("[outward-action default]"));
        assert_eq!(told("curl -X DELETE http://localhost:3000/1"), "");
        assert_eq!(told("curl -s https://x.example"), "");
    }

    #[test]
    fn literal_text_is_decoded() {
        assert_eq!(
            printed("base64 -d", Some("cm0gLXJmIC8K")),
            Some(Input::Text(Abstract::known("rm -rf /\n")))
        );
        assert_eq!(
            printed("base64 --decode", Some("cm0gLXJmIC8=\n")),
            Some(Input::Text(Abstract::known("rm -rf /")))
        );
        assert_eq!(printed("openssl base64 -d", Some("cm0=")), Some(Input::Text(Abstract::known("rm"))));
        assert_eq!(printed("xxd -r -p", Some("726d20")), Some(Input::Text(Abstract::known("rm "))));
        assert_eq!(printed("base64", Some("x")), None);
    }

    #[test]
    fn other_decoded_text_is_marked() {
        for line in [
            "base64 -d payload.txt",
            "base64 -d",
            "xxd -r -p p.hex",
            "gunzip -c x.gz",
            "zcat x",
            "gzip -dc x",
            "xz -d",
            "openssl enc -d -aes-256-cbc -in x",
            "base32 -d",
        ] {
            assert!(is_decoded(printed(line, None)), "{line}");
        }
        for line in ["gzip x", "gunzip x.gz", "xxd x", "openssl version", "xz x"] {
            assert!(!is_decoded(printed(line, None)), "{line}");
        }
    }
}
