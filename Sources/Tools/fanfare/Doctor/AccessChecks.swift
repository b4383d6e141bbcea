internal import RedisTransport

extension Check {
    /// Who can reach this Redis, and what this user may do in it.
    static let access = Check { subject in
        guard let facts = subject.redis else { return [] }
        let name = "access"
        if let refusal = facts.refusal {
            let remedy = "give this Redis user the permissions on the page Redis"
            return [.fail(name, "this user may not read a project: \(refusal)", remedy)]
        }
        guard let deployment = subject.deployment else { return [] }
        var findings = RedisExposure.concerns(deployment, user: facts.user).map {
            Finding.warn(name, $0.text, $0.remedy)
        }
        if findings.isEmpty {
            let user = facts.user.map { "as \($0)" } ?? "as a user that may not run ACL WHOAMI"
            findings.append(
                .ok(
                    name,
                    user + (deployment.server.usesTLS ? ", over TLS" : ", on this machine or over a trusted route")
                )
            )
        }
        return findings
    }
}
