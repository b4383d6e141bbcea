internal import FCMWire
internal import FanfareModel

/// Checks a credential: above all the hosts that the worker would send its secrets to.
struct CredentialCheck {
    let credential: Credential
    let hosts: HostPolicy

    /// Why a URL of the credential is refused; nil if all are allowed. It repeats only a host.
    var fault: String? {
        for url in credential.urls {
            let reason =
                url.servesSubjectTokens
                ? hosts.fault(ofTokenSource: url.url) : hosts.fault(of: url.url, allowsPath: true)
            if let reason { return "\(url.field): \(reason)" }
        }
        return nil
    }

    /// Mistakes that a valid credential does not show: it is another project's, or the simulator's beside Google's
    /// endpoint.
    func concerns(of setting: String, in project: Configuration.Project) -> [Concern] {
        var concerns: [Concern] = []
        // The id of an old project begins with its domain (`example.com:demo`), which no project id here can.
        let own = credential.projectID?.split(separator: ":").last.map(String.init) ?? project.id
        if own != project.id, ProjectID.isValid(own) {
            let text =
                "\(setting): the service account of project \(own): jobs of project \(project.id) go to \(own)'s devices"
            concerns.append(Concern(text, remedy: "name \(project.id)'s own file, or rename the project to \(own)"))
        }
        if case .authorizedUser = credential, credential.quotaProjectID == nil {
            let text = "\(setting): a user's login without quota_project_id, which FCM refuses"
            let remedy = "run `gcloud auth application-default set-quota-project \(project.id)`"
            concerns.append(Concern(text, remedy: remedy))
        }
        let endpoint = HostPolicy.host(authority: String(project.endpoint.dropFirst("https://".count))) ?? ""
        if HostPolicy.isGoogles(endpoint), let sandbox = localAuthority {
            let text = "projects.\(project.id).endpoint: Google's, but the credential is a sandbox's (\(sandbox))"
            concerns.append(Concern(text, remedy: "set endpoint: https://\(sandbox), or name Google's credential"))
        }
        return concerns
    }

    /// Host and port of this machine that issues the access token; nil if another machine does.
    private var localAuthority: String? {
        guard let last = credential.urls.last, !last.servesSubjectTokens else { return nil }
        // `fault` has found a valid URL without user, query and fragment.
        let authority = last.url.split(separator: "/", maxSplits: 2).dropFirst().first.map(String.init) ?? ""
        return Loopback.names(HostPolicy.host(authority: authority) ?? "") ? authority : nil
    }
}
