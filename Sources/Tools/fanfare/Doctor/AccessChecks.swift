internal import RedisTransport

extension Check {
    /// Who can reach this Redis, and what this user may do in it.
    static let access = Check("access") { subject, report in
        guard let facts = subject.redis else { return }
        if let error = facts.accessError {
            let remedy = "give this Redis user the permissions on the page Redis"
            return report.fail("this user may not read a project: \(error)", remedy)
        }
        for concern in subject.deployment.concerns(user: facts.user) {
            report.warn(concern.text, concern.remedy)
        }
        if report.isEmpty {
            let user = facts.user.map { "as \($0)" } ?? "as a user that may not run ACL WHOAMI"
            let usesTLS = subject.deployment.server.usesTLS
            report.ok(user + (usesTLS ? ", over TLS" : ", on this machine or over a trusted route"))
        }
    }
}

extension RedisDeployment {
    /// Risks from other users of Redis and of the route to it. A Redis on this machine has none.
    func concerns(user: String? = nil) -> [(text: String, remedy: String)] {
        guard !isLoopback else { return [] }
        var concerns: [(text: String, remedy: String)] = []
        func add(_ text: String, _ remedy: String) { concerns.append((text, remedy)) }
        if server.password == nil {
            add("over the network and without a password", "require a password or an ACL user of every client")
        }
        if !server.usesTLS {
            let text = "over the network and without TLS: messages, tokens and the password can be read on the route"
            add(text, "use rediss://, or a private network")
        }
        if user == "default" {
            add("signed in as the default user, which may do everything", "create an ACL user for the workers")
        }
        return concerns
    }
}
