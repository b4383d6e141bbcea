internal import RedisTransport

extension Check {
    /// Who may reach this Redis, and what this user may do there.
    static let access = Check { subject in
        guard let facts = subject.redis else { return [] }
        let name = "access"
        if let refusal = facts.refusal {
            let remedy = "give this Redis user what a worker needs; the page on Redis has the list"
            return [.fail(name, "this user may not look at a project: \(refusal)", remedy)]
        }
        guard let deployment = subject.deployment else { return [] }
        var findings = RedisExposure.concerns(deployment, user: facts.user).map {
            Finding.warn(name, $0.text, $0.remedy)
        }
        if findings.isEmpty {
            let user = facts.user.map { "as \($0)" } ?? "as a user that may not ask who it is"
            findings.append(
                .ok(name, user + (deployment.server.usesTLS ? ", over TLS" : ", on this machine or by a trusted way"))
            )
        }
        return findings
    }
}
