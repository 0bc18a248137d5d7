//! The DaemonSet of packaging/kubernetes: a container with the rights and mounts that it asks for guards others from the node.

use std::fs;

use serde_json::{Value, json};
use yaml_rust2::{Yaml, YamlLoader};

use crate::{
    Rung,
    container::{AGENT, Container, Ended, Ground, eventually, push},
    rungs,
};

const DAEMON_SET: &str = include_str!("../../packaging/kubernetes/daemonset.yaml");
const SCRIPT: &str = include_str!("../../packaging/kubernetes/attach-pods.sh");
const EXAMPLE: &str = include_str!("../../packaging/kubernetes/example-pod.yaml");

fn pod(text: &str, path: &[&str]) -> Yaml {
    let document = YamlLoader::load_from_str(text).expect("YAML").remove(0);
    path.iter().fold(document, |inside, key| inside[*key].clone())
}

fn text(yaml: &Yaml) -> &str {
    yaml.as_str().expect("a text")
}

fn texts(yaml: &Yaml) -> Vec<&str> {
    yaml.as_vec().expect("a list").iter().map(text).collect()
}

fn variables(container: &Yaml) -> Vec<String> {
    let variable = |one: &Yaml| format!("{}={}", text(&one["name"]), text(&one["value"]));
    container["env"].as_vec().expect("variables").iter().map(variable).collect()
}

/// As a kubelet makes one of the DaemonSet's containers. What the node keeps of its log lies in `log`.
fn of_the_daemon_set<'ground>(ground: &'ground Ground, pod: &Yaml, kind: &str) -> Container<'ground> {
    let specified = &pod[kind][0];
    let container = ground.container(&format!("node-{kind}"));
    fs::copy(blastradius_tests::binary(), container.at("usr/bin/blastradius")).expect("the program");
    let bind = |mount: &Yaml| {
        let (name, destination) = (text(&mount["name"]), text(&mount["mountPath"]));
        fs::create_dir_all(container.at(destination.trim_start_matches('/'))).expect("a directory");
        if name == "run" {
            return json!({ "destination": destination, "type": "tmpfs", "source": "tmpfs", "options": ["mode=0777"] });
        }
        let source = match name {
            "log" | "script" => ground.path(name),
            _ => destination.into(),
        };
        fs::create_dir_all(&source).expect("a directory");
        json!({ "destination": destination, "type": "bind", "source": source, "options": ["rbind", "rw"] })
    };
    let mounts: Vec<Value> = specified["volumeMounts"].as_vec().expect("mounts").iter().map(bind).collect();
    fs::write(ground.path("script").join("attach-pods.sh"), SCRIPT).expect("a file");
    let rights = &specified["securityContext"];
    let capabilities: Vec<String> =
        texts(&rights["capabilities"]["add"]).iter().map(|name| format!("CAP_{name}")).collect();
    container.edit(|config| {
        variables(specified).iter().for_each(|variable| push(&mut config["process"]["env"], variable));
        config["process"]["cwd"] = "/".into();
        config["process"]["noNewPrivileges"] =
            (rights["allowPrivilegeEscalation"].as_bool() == Some(false)).into();
        config["root"]["readonly"] = rights["readOnlyRootFilesystem"].as_bool().expect("yes or no").into();
        for set in
            config["process"]["capabilities"].as_object_mut().expect("sets of capabilities").values_mut()
        {
            *set = json!(capabilities);
        }
        config["mounts"].as_array_mut().expect("mounts").extend(mounts.iter().cloned());
        if pod["hostPID"].as_bool() == Some(true) {
            let namespaces = config["linux"]["namespaces"].as_array_mut().expect("namespaces");
            namespaces.retain(|namespace| namespace["type"] != "pid");
        }
    });
    container
}

/// How many trees the guard's logs say that it has attached.
fn attached(ground: &Ground) -> usize {
    let logs = fs::read_dir(ground.path("log/blastradius")).into_iter().flatten().flatten();
    let read = |log: fs::DirEntry| fs::read_to_string(log.path()).unwrap_or_default();
    logs.map(|log| read(log).matches("attached to ").count()).sum()
}

#[test]
fn a_pod_that_asks_is_guarded_from_the_node_and_its_neighbour_is_not() {
    if !rungs().contains(&Rung::Kernel) {
        return;
    }
    let ground = Ground::new();
    let pod_of_node = pod(DAEMON_SET, &["spec", "template", "spec"]);
    let doctor = of_the_daemon_set(&ground, &pod_of_node, "initContainers");
    let Ended { code, said } = doctor.run(&texts(&pod_of_node["initContainers"][0]["command"]));
    assert_eq!(code, 0, "{said}");

    let (asks, neighbour) = (ground.container("asks"), ground.container("neighbour"));
    asks.edit(|config| {
        for variable in variables(&pod(EXAMPLE, &["spec", "containers"])[0]) {
            push(&mut config["process"]["env"], &variable);
        }
    });
    for container in [&asks, &neighbour] {
        container.start(&["sh", "-c", AGENT]);
    }
    let node = of_the_daemon_set(&ground, &pod_of_node, "containers");
    node.start(&texts(&pod_of_node["containers"][0]["command"]));
    eventually("attached", || Ok(attached(&ground) == 1));
    // The record is written when all are in.
    let Ended { code, said } = asks.has_done("rm -rf /srv/data/2019");
    assert!(code != 0 && asks.keeps("srv/data/2019/photo"), "{said}");
    let Ended { code, said } = asks.has_done("rm -rf build");
    assert!(code == 0 && !asks.at("srv/app/build").exists(), "in scope: {said}");
    let Ended { code, said } = neighbour.has_done("rm -rf /srv/data");
    assert!(code == 0 && !neighbour.at("srv/data").exists(), "the neighbour: {said}");
}
