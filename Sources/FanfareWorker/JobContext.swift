internal import FCMWire
internal import FanfareModel
internal import StreamWire

/// A job as this worker runs it: its spec and the request prepared from it once.
final class JobContext {
    let id: String
    let spec: JobSpec
    let results: ResultsPolicy
    /// The prepared request, or why there can be none: a job that was accepted for another transport.
    let template: Result<RequestTemplate, TranslationError>
    /// Ends every recipient not yet sent; set when the fan-out's first answers say that the message is wrong.
    var abort: Failure?
    /// How many batches of it this worker holds; the context goes with the last.
    var batches = 0

    init(id: String, spec: JobSpec, transport: Transport) {
        self.id = id
        self.spec = spec
        results = spec.results.resolved(total: spec.total)
        do throws(TranslationError) {
            template = .success(
                try RequestTemplate(
                    message: spec.message,
                    format: spec.format,
                    transport: transport,
                    validateOnly: spec.validateOnly,
                    delivery: spec.delivery,
                    jobID: id
                )
            )
        } catch {
            template = .failure(error)
        }
    }

    var isAtMostOnce: Bool { spec.delivery == .atMostOnce }
}
