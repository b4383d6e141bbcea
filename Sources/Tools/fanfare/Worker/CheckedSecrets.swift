internal import FCMWire
internal import FanfareConfiguration
internal import OpenSSLKit

extension Configuration {
    /// ``loadSecrets()``, and whether each service account's key can sign: by the same steps as a worker's, which would
    /// end with all its projects for one bad key.
    ///
    /// - Throws: every problem of a key at once; no message repeats a part of it.
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
        let account: ServiceAccount
        do throws(ServiceAccountError) {
            account = try ServiceAccount.parse(file)
        } catch {
            return error.description
        }
        do throws(OpenSSLError) {
            _ = try RS256Signer(pem: account.privateKey)
            return nil
        } catch {
            return "private_key: cannot sign (\(error)); take the file as the Firebase console gives it, "
                + "its line breaks as \\n"
        }
    }
}
