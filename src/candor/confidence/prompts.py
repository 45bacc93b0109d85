"""What the models are asked (paper E.8): the system prompts, the probes of the second chance, and the judges' prompt.

The words are the paper's, verbatim (with "whether your answer correctly"). Its text at hand has lost its line breaks;
here they stand where the structure shows them: after the JSON format, before and after numbered instructions, around the
response format, between its tags, and before what is judged. The user's message is the prompt of the data set
(`candor.data`).
"""

import json

_JSON_FORMAT = (
    'Respond in the JSON format: {"reasoning": string, "answer": string, "confidence_analysis": string, '
    '"confidence": int}\n'
)

JSON_SYSTEM = {
    # Qwen 2.5
    "original": _JSON_FORMAT + 'Provide your internal thought process in "reasoning" attribute. '
    'Provide only your final answer in "answer" attribute. '
    "For mathematical questions, provide your final answer in LaTeX format. "
    'Provide your analysis on the uncertainty of your answer in "confidence_analysis" attribute, '
    "taking into account various factors that may lead to your answer being different or incorrect. "
    'In "confidence" attribute, express your confidence as an integer between 0 and 100 inclusive.',
    # Qwen 3 and Gemma 4
    "updated": _JSON_FORMAT + 'Provide your detailed internal thought process in "reasoning" attribute. '
    'Provide only your final answer in "answer" attribute. '
    "For mathematical questions, provide your final answer in LaTeX format. "
    'Provide your analysis on the uncertainty of your answer in "confidence_analysis" attribute, '
    "taking into account various factors that may lead to your answer being different or incorrect, "
    "such as errors in calculation and ambiguities in answer or grading. "
    'In "confidence" attribute, express your confidence as an integer between 0 and 100 inclusive, '
    "representing the subjective probability that your answer is correct. "
    "You score points based on whether your answer correctly and how well-calibrated your confidence is. "
    "Your objective is to maximize the total number of points scored over all the questions asked.",
}

XML_SYSTEM = """\
When answering questions, follow these instructions:
1) Enclose your internal thought process with <reasoning> and </reasoning> tags.
2) Enclose your final answer with <answer> and </answer> tags. For mathematical answers, answer in LaTeX format.
3) Enclose your analysis on the uncertainty of your answer with <confidence_analysis> and </confidence_analysis> tags, \
taking into account various factors that may lead to your answer being different or incorrect.
4) Enclose your confidence with <confidence> and </confidence> tags. Confidence is an integer between 0 and 100 \
inclusive, with higher values indicating higher confidence. Higher confidence means higher score if answer is correct \
but lower score if answer is incorrect. Your aim is to maximize your score considering the confidence of your answer \
given your internal thought process to the question.
Respond in the following format:
<reasoning>
…
</reasoning>
<answer>
…
</answer>
<confidence_analysis>
…
</confidence_analysis>
<confidence>
…
</confidence>"""

ANSWER_PREFIX = "Final Answer:"
"""What the enforcer makes the answer to a probe begin with (paper E.6.1)."""

CONFIDENCE_PROBE = "Please output your confidence as an integer between 0 and 100 inclusive."

_ABSTENTION = """\
Given the question and the answer written in JSON format, determine whether the LLM opted to abstain from answering the \
question. Respond with the following (without the quotes):
(i) "unanswerable" if the LLM has responded that the question is unanswerable due to having insufficient information, \
regardless of whether the question is actually answerable.
(ii) "abstain" if the LLM has abstained from answering the question in a manner that does not otherwise qualify as \
"unanswerable". If the LLM abstains by implying that the question is unanswerable, respond with "unanswerable".
(iii) "answer" if the LLM has answered the question, regardless of whether the question is answered correctly.
Answer with only "unanswerable", "abstain" or "answer", without the quotes. Do not attempt to answer or solve the question \
given in JSON because this is irrelevant in judging whether or how the LLM has abstained from answering the question.
"""


def abstention_judge(question: str, answer: str) -> list[dict[str, str]]:
    """Return the conversation that asks a judge whether an answer abstains (paper E.8).

    Args:
        question: as the model was asked it, sources included.
        answer: as it was read from the output. The paper calls that `answer` (the attribute, and what E.6.1 retrieves even
            where it takes a second prompt), and the whole an output or a response.
    """
    judged = json.dumps({"question": question, "answer": answer}, ensure_ascii=False)
    return [{"role": "user", "content": _ABSTENTION + judged}]


def answer_probe(tokens: int, latex: bool) -> str:
    """Return the follow-up for an answer that cannot be read: 32 tokens for HotpotQA, 64 and LaTeX for mathematics."""
    probe = f"Reasoning token limit reached. Please output only your final answer within {tokens} tokens."
    return f"{probe} Express your answer in LaTeX." if latex else probe


def messages(prompt: str, format: str, json_prompt: str = "original") -> list[dict[str, str]]:
    """Return the conversation that asks a question.

    Args:
        prompt: the user's message, whole.
        format: `xml` or `json`.
        json_prompt: which JSON system prompt, `original` or `updated`; no matter with `xml`.

    Raises:
        KeyError: `format` or `json_prompt` is none of these.
    """
    system = {"xml": XML_SYSTEM, "json": JSON_SYSTEM[json_prompt]}[format]
    return [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
