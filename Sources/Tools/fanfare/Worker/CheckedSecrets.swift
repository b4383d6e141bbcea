internal import FCMWire
internal import FanfareConfiguration
internal import OpenSSLKit

extension Configuration {
    /// Loads the secrets and checks that each service account's key can sign, as a worker does when it starts. A worker
    /// ends if one key cannot.
    ///
    /// - Throws: all problems; no message repeats a part of a key.
    func loadCheckedSecrets() throws(ConfigurationError) -> Secrets {
        let secrets = try loadSecrets()
        let problems = projects.compactMap { project in
            secrets.serviceAccounts[project.id].flatMap(Self.keyProblem).map {
                "\(project.credentials?.name ?? project.id): \($0)"
            }
        }
        guard problems.isEmpty else { throw ConfigurationError(problems: problems) }
        return secrets
    }

    private static func keyProblem(of file: [UInt8]) -> String? {
        do {
            let account = try ServiceAccount.parse(file)
            _ = try RS256Signer(pem: account.privateKey)
            return nil
        } catch let error as ServiceAccountError {
            return error.description
        } catch {
            return "private_key: cannot sign (\(error)); use the file as the Firebase console gives it, with "
                + "line breaks as \\n"
        }
    }
}
